"""The two nodes that views and in-place changes need: a base with a part replaced, and its view.

The *way* from a base to a view is the chain of view operations between them. `CopySlices` stands
for an in-place operation on a view: its gradient for the base is the base's own, except in the
part, where it goes through the operation that wrote there. `AsStridedBackward0` is a view of a base
whose history was rewritten after the view was made: one node for the whole way.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from .._arrays.batching.levels import bottom, with_levels
from .._ops.declare.record import LINEAR, Op
from .._tensor.tensor import Tensor
from .apply import apply, watched
from .node import Node, next_sequence

Way = tuple[tuple[Op, dict[str, Any], int | None], ...]


def walk(array: Any, chain: Way) -> Any:
    """From a base to a view, on an array (or on a lifted tensor)."""
    for op, parameters, index in chain:
        array = op(array, **parameters)
        if index is not None:
            array = array[index]
    return array


def walk_tensor(tensor: Tensor, way: Way) -> Tensor:
    """From a base to a view, on tensors, recorded."""
    for op, parameters, index in way:
        result = apply(op, (tensor,), parameters)
        tensor = result if index is None else result[index]
    return tensor


# --- a base with a part replaced ------------------------------------------------------------------


def _replace_part(base: Any, part: Any, chain: Way) -> Any:
    out = np.copy(base, order="C")
    shown = walk(out, chain)
    # In another order in memory than the base had, the same way may lead to a copy.
    probe = out if type(out) is np.ndarray else _probe(out.shape, np.empty)
    way_out = shown if probe is out else walk(probe, chain)
    if np.may_share_memory(bottom(way_out), bottom(probe)):
        np.copyto(shown, part)
        return out
    # So ask which element of the base each one of the part is (counted from one; 0 is none).
    count = probe.size
    places = walk(np.arange(1, count + 1).reshape(probe.shape), chain)
    source: Any = np.full(count + 1, -1)
    source[places.reshape(-1)] = np.arange(places.size)
    source = source[1:].reshape(probe.shape)
    values = np.reshape(np.broadcast_to(part, places.shape), (-1,))
    if not places.size:
        return out
    return np.where(source < 0, base, np.take(values, np.maximum(source, 0)))


view_scatter: Op = Op(
    "view_scatter",
    _replace_part,
    ("base", "part"),
    parameters=("chain",),
    vjp={
        "base": lambda g, chain, part_shape, part_dtype: view_scatter(
            g, np.zeros_like(g, shape=part_shape, dtype=part_dtype), chain=chain
        ),
        "part": lambda g, chain: walk(g, chain),  # noqa: PLW0108  (parameters are found by name)
    },
    jvp=LINEAR,
    node="torch::autograd::CopySlices",
    opmath=False,
    internal=True,
)


class CopySlices(Node):
    """An in-place operation on a view, as a node of the view's base; `written` is its own node."""

    __slots__ = ("way", "written")

    unusual = True
    op = view_scatter
    way: Way
    written: Node

    def name(self) -> str:
        return view_scatter.node_name

    @property
    def saved(self) -> Any:
        return self.written.saved

    @saved.setter
    def saved(self, value: Any) -> None:
        self.written.saved = value

    @property
    def versions(self) -> Any:
        return self.written.versions

    @versions.setter
    def versions(self, value: Any) -> None:
        self.written.versions = value

    def run_custom(self, gradient: Any, lifted: bool) -> Any:
        """The gradient of the old base, and those of the operation's other inputs."""
        from .backward_pass.chain_rule import fit, run_node

        if gradient is None:
            return (None,) * len(self.edges)
        part: Any
        if lifted:
            part = walk_tensor(gradient, self.way)
            data = part._data
        else:
            part = data = np.copy(walk(gradient, self.way))
        first, *rest = run_node(_apart(self.written) if lifted else self.written, part, lifted)
        if self.edges[0] is None:
            return [None, *rest]
        if first is not None:
            first = fit(self.written, 0, first, data.shape, data.dtype, lifted)
        if lifted:
            if first is None:
                first = part * 0
            return [apply(view_scatter, (gradient, first), {"chain": self.way}), *rest]
        if first is None:
            first = np.zeros_like(part)
        return [_replace_part(gradient, first, self.way), *rest]


def _apart(written: Node) -> Node:
    """A node of its own for the operation, which a second pass may reach by way of its output.

    What this node saved is let go when it has run, and what `out` in a rule leads to runs after that.
    """
    twin: Node = copy.copy(written)
    twin.saved = list(written.saved) if isinstance(written.saved, list) else written.saved
    twin.sequence, twin.mark = next_sequence(), 0
    return twin


def part_replaced(base: Tensor, edge: Any, view: Tensor, result: Tensor, way: Way) -> Node:
    """The node of a base after `result` was written into its view; `edge` made the base before."""
    written = result._node
    if written is None or not _writes_first(written, view):
        both = (edge, written)
        return watched(view_scatter.record((base, result), both, {"chain": way}, base._data))
    node: CopySlices = object.__new__(CopySlices)
    node.way = way
    node.written = written
    node.edges = (edge, *written.edges[1:])
    if base._output_nr or written.edge_nrs:
        numbers = written.edge_nrs or (0,) * len(written.edges)
        node.edge_nrs = (base._output_nr, *numbers[1:])
    node.parameters = {}
    node.sequence = next_sequence()
    node.mark = 0
    node.code, node.instruction = written.code, written.instruction
    node.shape, node.dtype = base._data.shape, base._data.dtype
    return node


def _writes_first(written: Node, view: Tensor) -> bool:
    """Whether a node is one operation whose first input was the view, as it was before."""
    op: Op | None = written.op  # a custom function's node has none
    return (
        op is not None
        and op.outputs == 1
        and not op.variadic
        and not written.is_leaf_edge
        and bool(written.edges)
        and written.edges[0] is view._node
        and written.shape == view._data.shape
        and written.dtype == view._data.dtype
    )


# --- a view of a base that has changed ------------------------------------------------------------


def _probe(shape: Any, new: Any) -> Any:
    """An array of truth values to try a way on, with the batches that a shape hides."""
    sizes = getattr(shape, "sizes", ())[::-1]
    return with_levels(new((*sizes, *shape), np.bool_), getattr(shape, "levels", ()))


def _back(g: Any, base_shape: Any, chain: Way) -> Any:
    """The gradient of a base from that of a view: back along the way, step by step."""
    probe = _probe(base_shape, lambda shape, kind: np.broadcast_to(kind(), shape))
    steps = []
    for op, parameters, index in chain:
        out = op.forward(probe, **parameters)
        steps.append((op, parameters, index, probe.shape, out))
        probe = out if index is None else out[index]
    for op, parameters, index, shape, out in reversed(steps):
        if index is not None:
            g = tuple(
                [g if i == index else np.zeros_like(g, shape=o.shape) for i, o in enumerate(out)]
            )
        rule = op.vjp[0]
        g = _summed_to(rule.call(rule.rule, g, (), (shape,), None, parameters, None), shape)
    return g


def _summed_to(g: Any, shape: tuple[int, ...]) -> Any:
    """The sum over dimensions that an `expand` repeated."""
    missing = g.ndim - len(shape)
    repeated = tuple([d for d in range(g.ndim) if d < missing or g.shape[d] != shape[d - missing]])
    return np.reshape(np.sum(g, axis=repeated), shape) if repeated else g


view_replay = Op(
    "view_replay",
    walk,
    ("base",),
    parameters=("chain",),
    vjp={"base": _back},
    jvp=LINEAR,
    node="AsStridedBackward0",
    opmath=False,
    internal=True,
)


def replayed(base: Tensor, edge: Any, view: Tensor, way: Way) -> tuple[Node | None, int]:
    """The node of a view that follows from its base's present history, and which output it is."""
    if view._data.dtype == base._data.dtype:
        return watched(view_replay.record((base,), (edge,), {"chain": way}, view._data)), 0
    tensor = walk_tensor(base, way)  # parts of complex numbers keep their operations' names
    return tensor._node, tensor._output_nr
