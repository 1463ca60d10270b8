"""After a custom Function's forward: its outputs get their node, and what it saved is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._tensor.tensor import Tensor, make
from ..apply import edge_of
from ..modes import modes
from ..node import next_sequence
from ..views import adopt, bump, check_writable
from .node import OWN, FunctionNode, SavedInput, SavedOutput, SavedPacked, saved_nothing


def finish(node: FunctionNode, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Give the outputs their node, keep what was saved, honour what was marked."""
    records = any(edge is not None for edge in node.edges)
    dirty = {id(t) for t in node.dirty}
    flat = {id(t) for t in node.non_differentiable}
    inputs = {id(a) for a in args if isinstance(a, Tensor)}
    if not dirty <= inputs:
        raise RuntimeError("mark_dirty only accepts input tensors, but argument is not an input")
    if records and not dirty <= {id(o) for o in outputs}:
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. "
            "The inputs that are modified inplace must all be outputs of the Function."
        )
    if flat:
        node.without_gradient = frozenset(nr for nr, o in enumerate(outputs) if id(o) in flat)
    node.sequence = next_sequence()
    node.mark = 0
    results = []
    for nr, output in enumerate(outputs):
        if not isinstance(output, Tensor):
            results.append(output)
            node.outputs.append((None, None))
            continue
        node.outputs.append((output._data.shape, output._data.dtype))
        differentiable = records and id(output) not in flat and output._data.dtype.kind in "fcV"
        if id(output) in dirty:
            check_writable(output)
            bump(output, 3)
            results.append(_rewrite(output, node, nr) if differentiable else output)
            continue
        # An input handed back, or a view of one, is an output of its own.
        if id(output) in inputs or output._node is not None or output._base is not None:
            output = _as_own_view(output, differentiable)
        if differentiable:
            output._node = node
            output._output_nr = nr
            output._requires_grad = False
        results.append(output)
    if records:
        _keep_saved(node, args, outputs, results)
    return tuple(results)


def _as_own_view(tensor: Tensor, differentiable: bool) -> Tensor:
    """An output in memory that is not its own; a write into it would bypass the custom backward."""
    out = _alias(tensor)
    if differentiable:
        base = tensor if tensor._base is None else tensor._base
        out._base, out._view = base, tensor._view
        out._seen_version = out._version_box[0]
        out._view_creation = "custom"
    return out


def _alias(tensor: Tensor) -> Tensor:
    out = make(tensor._data)
    out._version_box = tensor._version_box
    return out


def _rewrite(output: Tensor, node: FunctionNode, nr: int) -> Tensor:
    """An input changed in place takes this node as its history."""
    result = make(output._data)
    result._node = node
    result._output_nr = nr
    adopt(output, result)
    return output


def _keep_saved(node: FunctionNode, args: Any, outputs: Any, results: Any) -> None:
    position = {id(o): nr for nr, o in enumerate(outputs) if isinstance(o, Tensor)}
    position |= {id(o): nr for nr, o in enumerate(results) if isinstance(o, Tensor)}
    unchanged = {id(a) for a in args if isinstance(a, Tensor)} - {id(t) for t in node.dirty}
    saved: list[Callable[[FunctionNode], Any]] = []
    for tensor in node.to_save:
        if tensor is None:
            saved.append(saved_nothing)
            continue
        if not isinstance(tensor, Tensor):
            raise TypeError(
                "save_for_backward can only save variables, but argument "
                f"{len(saved)} is of type {type(tensor).__name__}"
            )
        nr = None if id(tensor) in unchanged else position.get(id(tensor))
        if modes.saved_hooks:
            pack, unpack_hook = modes.saved_hooks[-1]
            edge = OWN if nr is not None else edge_of(tensor)
            number = tensor._output_nr if nr is None else nr
            saved.append(SavedPacked(pack(_alias(tensor)), unpack_hook, edge, number))
        elif nr is not None:
            saved.append(SavedOutput(results[nr], nr))
        else:
            saved.append(SavedInput(tensor))
    node.saved = tuple(saved)
    node.to_save = ()
