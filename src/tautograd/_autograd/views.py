"""Views and in-place changes: how history is rewritten when shared memory changes.

A view remembers the view operations that lead to it from its base. An in-place change of a view
is, as mathematics, a new base with one part replaced. So the base's history becomes a `CopySlices`
node over (old base, new part), and every view of it gets its node by replaying its way from the
base, when next asked for it. The data itself was changed in place once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._ops.record import LINEAR, Op
from .._tensor.tensor import Tensor, make
from .apply import apply, edge_of, record
from .hooks import retain_grad
from .modes import modes
from .node import Node
from .sites import mark


def walk(array: Any, chain: Any) -> Any:
    """Apply a chain of view operations to an array (or to a lifted tensor)."""
    for op, parameters, index in chain:
        array = op(array, **parameters)
        if index is not None:
            array = array[index]
    return array


def _replace_part(base: Any, part: Any, chain: Any) -> Any:
    out = np.copy(base)
    np.copyto(walk(out, chain), part)
    return out


view_scatter = Op(
    "view_scatter",
    _replace_part,
    ("base", "part"),
    parameters=("chain",),
    vjp={
        "base": lambda g, chain, part_shape, part_dtype: view_scatter(
            g, np.zeros_like(g, shape=part_shape), chain=chain
        ),
        "part": lambda g, chain: walk(g, chain),
    },
    jvp=LINEAR,
    node="torch::autograd::CopySlices",
    opmath=False,
    internal=True,
)


def replay_history(view: Tensor, base: Tensor) -> None:
    """Give a view the node that follows from its base's present history."""
    view._seen_history = base._history
    if edge_of(base) is None:
        view._node = None
        return
    before = modes.grad, modes.inference, modes.special
    modes.grad, modes.inference, modes.special = True, False, modes.forward_level > 0
    try:
        tensor = base
        for op, parameters, index in view._view:
            result = apply(op, (tensor,), parameters)
            tensor = result if index is None else result[index]
    finally:
        modes.grad, modes.inference, modes.special = before
    view._node = tensor._node
    view._output_nr = tensor._output_nr
    view._requires_grad = False


def bump(tensor: Tensor, depth: int = 2) -> None:
    """Note that the memory of this tensor (and of all its views) has changed, and where."""
    if tensor._is_inference:
        return
    box = tensor._version_box
    box[0] += 1
    box[1:] = [mark(depth)]


def check_writable(tensor: Tensor) -> None:
    """Refuse an in-place change that autograd could not follow."""
    if tensor._is_inference and not modes.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed."
        )
    if not modes.grad:
        return
    base = tensor._base
    if tensor._view_creation == "inference" and tensor.requires_grad:
        check_view_creation(tensor)
    if tensor._requires_grad and tensor._node is None:
        if base is not None:
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place operation."
            )
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation. To change its "
            "values behind autograd's back, as an optimizer does, do it inside `with torch.no_grad():`; "
            "to have the change recorded, change a clone()."
        )
    if base is None:
        return
    if base._requires_grad and base._node is None:
        raise RuntimeError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation."
        )


def check_view_creation(tensor: Tensor) -> None:
    """Refuse to write history through a view that has none of its own."""
    if tensor._base is None or tensor._view_creation is None:
        return
    if tensor._view_creation == "inference":
        raise RuntimeError(
            "A view was created in inference mode and is being modified inplace in normal mode. Given "
            "that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
            "code by moving both the view and the inplace either both inside the inference_mode block "
            "(if you don't want the inplace to be tracked) or both outside (if you want the inplace "
            "to be tracked)."
        )
    name = tensor._node.name() if tensor._node is not None else "a view function"
    if tensor._view_creation == "multi_output":
        raise RuntimeError(
            f"Output {tensor._output_nr} of {name} is a view and is being modified inplace. This view "
            "is the output of a function that returns multiple views. Such functions do not allow the "
            "output views to be modified inplace. You should replace the inplace operation by an "
            "out-of-place one."
        )
    if tensor._view_creation == "no_grad" and tensor._base.requires_grad:
        raise RuntimeError(
            "A view was created in no_grad mode and is being modified inplace with grad mode enabled. "
            "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify "
            "your code by moving both the view and the inplace either both inside the no_grad block "
            "(if you don't want the inplace to be tracked) or both outside (if you want the inplace "
            "to be tracked)."
        )


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
            retained = _no_longer_retained(tensor)
            tensor._node = node
            tensor._output_nr = result._output_nr
            if retained and node is not None:
                retain_grad(tensor)
            if node is not None:
                tensor._requires_grad = False
            tensor._history += 1
        return
    if node is None and edge_of(base) is None:
        return
    check_view_creation(tensor)
    edges = (edge_of(base), node)
    inputs = (base, result)
    mask = (edges[0] is not None) + 2 * (edges[1] is not None)
    base._node = record(view_scatter, inputs, edges, mask, {"chain": tensor._view}, base._data)
    base._output_nr = 0
    base._requires_grad = False
    base._history += 1


def _no_longer_retained(tensor: Tensor) -> bool:
    """Whether a tensor retained the gradient of its old value; it will, of its new one, instead."""
    if not tensor._retains_grad or tensor._node is None or not tensor._node.retained:
        return False
    tensor._node.retained.pop(tensor._output_nr, None)
    tensor._retains_grad = False
    return True


def keep_original(tensor: Tensor, node: Node | None) -> None:
    """Before a write: where the operation's own rule needs what is overwritten, it gets a copy."""
    if node is None or node.op is None or node.op.variadic or not node.saved:
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
