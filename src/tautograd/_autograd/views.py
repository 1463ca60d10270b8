"""Views and in-place changes: how history is rewritten when shared memory changes.

A view remembers the view operations that lead to it from its base. An in-place change of a view
is, as mathematics, a new base with one part replaced. So the base's history becomes a `CopySlices`
node, and every view of it gets its node by replaying its way from the base, when next asked for it.
The data itself was changed in place once.

A view knows the version its memory had when its node was made. Any later version means that the
node is out of date.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._ops.declare.record import Op
from .._tensor.tensor import Tensor, make
from .._user_code.sites import mark
from .apply import edge_of
from .copy_slices import Way, part_replaced, replayed
from .hooks import retain_grad
from .modes import modes, put
from .node import Node
from .refusals import INFERENCE, LEAF, VIEW_OF_LEAF, why_not_rebased


def replay_history(view: Tensor, base: Tensor) -> None:
    """Give a view the node that follows from its base's present history."""
    edge = edge_of(base)
    if edge is None and view._node is None:
        return
    if view._view_creation is not None:
        raise RuntimeError(why_not_rebased(view, "its base or another view of its base has been"))
    view._seen_version = view._version_box[0]
    view._requires_grad = False
    retained = _no_longer_retained(view)
    if edge is None:
        view._node, view._output_nr = None, 0
        return
    before = modes.now
    put(before._replace(grad=True, recording=True, inference=False))  # whatever else is in force
    try:
        view._node, view._output_nr = replayed(base, edge, view, way_to(view, base))
    finally:
        put(before)
    if retained:
        retain_grad(view)


def way_to(view: Tensor, base: Tensor) -> Way:
    """The operations that lead from a base to its view.

    A base that became another view of its own memory (`t_()`) has lost the way, and `as_strided`
    may show what the view it was called on does not: then the way is found from where the two lie.
    """
    way: Way = view._view
    if not base._became_view and not any(op.name == "as_strided" for op, _, _ in way):
        return way
    from .._ops.shape.strided_views import as_strided_op, way_between

    return ((as_strided_op, way_between(base._data, view._data), None),)


def bump(tensor: Tensor, depth: int = 2) -> None:
    """Note that the memory of this tensor (and of all its views) has changed, and where."""
    if tensor._is_inference:
        return
    box = tensor._version_box
    box[0] += 1
    if len(box) > 1:
        box[1] = mark(depth)
    else:
        box.append(mark(depth))


def _wants_gradient(value: Any) -> bool:
    """Whether a tensor requires a gradient, asked without bringing a view's history up to date."""
    if not isinstance(value, Tensor):
        return False
    if value._requires_grad or value._node is not None:
        return True
    return value._base is not None and _wants_gradient(value._base)


def check_writable(tensor: Tensor, *others: Any) -> None:
    """Refuse an in-place change that autograd could not follow; `others` are what is written."""
    if tensor._is_inference and not modes.inference:
        raise RuntimeError(INFERENCE)
    if not modes.grad:
        return
    base = tensor._base
    if base is None:
        if tensor._requires_grad and tensor._node is None:
            if modes.recorder is not None:
                modes.recorder.writes_leaf(tensor)
            raise RuntimeError(LEAF)
        return
    wanted = _wants_gradient(tensor)
    if wanted or any(_wants_gradient(x) for x in others):
        check_view_creation(tensor)
        # Of a leaf, or a view of what wants no gradient that was itself made a leaf.
        whose = base if base._requires_grad else tensor
        if wanted and whose._node is None and whose._requires_grad:
            raise RuntimeError(VIEW_OF_LEAF)


def check_view_creation(tensor: Tensor) -> None:
    """Refuse to write history through a view that has none of its own."""
    if tensor._base is not None and tensor._view_creation is not None:
        raise RuntimeError(why_not_rebased(tensor, "is being"))


def adopt(tensor: Tensor, result: Tensor) -> None:
    """After `tensor`'s memory took `result`'s values: take its history as well."""
    node = result._node
    base = tensor._base
    if modes.forward_level:
        from .special import write_tangents

        write_tangents(tensor, result)
    if not modes.grad:
        return
    if base is None:
        if node is not None or tensor._node is not None:
            _rewrite(tensor, node, result._output_nr)
        return
    edge = edge_of(base)
    if node is None and edge is None:
        return
    check_view_creation(tensor)
    _rewrite(base, part_replaced(base, edge, tensor, result, way_to(tensor, base)), 0)


def _rewrite(tensor: Tensor, node: Node | None, output_nr: int) -> None:
    """Give a tensor another history; a gradient it retains is then that of its new value."""
    retained = _no_longer_retained(tensor)
    tensor._node = node
    tensor._output_nr = output_nr
    if node is not None:
        tensor._requires_grad = False
        if retained:
            retain_grad(tensor)


def _no_longer_retained(tensor: Tensor) -> bool:
    """Whether a tensor retained the gradient of its old value."""
    if not tensor._retains_grad or tensor._node is None or not tensor._node.retained:
        return False
    tensor._node.retained.pop(tensor._output_nr, None)
    tensor._retains_grad = False
    return True


def keep_original(tensor: Tensor, node: Node | None) -> None:
    """Before a write: where the operation's own rule needs what is overwritten, it gets a copy."""
    op: Op | None = None if node is None else node.op  # a custom function's node has none
    if node is None or op is None or op.variadic or not node.saved:
        return
    if node.saved[0] is tensor._data:
        node.saved[0] = np.copy(tensor._data)
        node.versions = [v for v in node.versions if v[2] != 0]


def save_written_output(tensor: Tensor, result: Tensor, node: Node | None) -> None:
    """Where the node saved its output, that output now lives in `tensor`'s memory."""
    if node is None or not node.saved or not node.op.saves_output or node.saved[-1] is None:
        return
    if node.op.outputs == 1 and node.saved[-1] is result._data:
        node.saved[-1] = tensor._data
        box = tensor._version_box
        node.versions = [v for v in node.versions if v[2] != -1] + [(box, box[0], -1)]


def detached(tensor: Tensor) -> Tensor:
    """The same memory and version counter with no history."""
    out = make(tensor._data)
    out._version_box = tensor._version_box
    return out
