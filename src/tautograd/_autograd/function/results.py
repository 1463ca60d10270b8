"""After a custom Function's forward: its outputs get their node, and what it saved is kept."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..._ops.declare.subclasses import speaks
from ..._tensor.creation import subclass_of
from ..._tensor.tensor import Tensor, make
from ..._user_code.sites import warning_level
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
    _check_dirty(node.dirty, inputs)
    dirty &= inputs
    if records and not dirty <= {id(o) for o in outputs}:
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. "
            "The inputs that are modified inplace must all be outputs of the Function."
        )
    if flat:
        node.without_gradient = frozenset(nr for nr, o in enumerate(outputs) if id(o) in flat)
    node.sequence = next_sequence()
    node.mark = 0
    results: list[Any] = []
    first = {id(o): nr for nr, o in reversed(list(enumerate(outputs)))}
    for nr, output in enumerate(outputs):
        if first[id(output)] != nr and isinstance(output, Tensor):
            # Given twice, it is one tensor; its gradient arrives as that of the last place.
            again = results[first[id(output)]]
            node.outputs.append((again._data.shape, again._data.dtype))
            if again._node is node:
                again._output_nr = nr
            results.append(again)
            continue
        if not isinstance(output, Tensor):
            results.append(output)
            node.outputs.append((None, None))
            continue
        node.outputs.append((output._data.shape, output._data.dtype))
        differentiable = records and id(output) not in flat and output._data.dtype.kind in "fcV"
        if id(output) in dirty:
            if output._base is not None and len(outputs) > 1:
                raise RuntimeError(
                    "If your Function modifies inplace an input that is a view of another Tensor, "
                    "your Function cannot return more than one Tensor. This is not supported by the "
                    "current autograd engine. You should either make sure the input is not a view "
                    "(using .clone() for example) or make your Function only return one Tensor "
                    "(potentially splitting it into two Functions: one doing the inplace that "
                    "returns a single Tensor and a second one that does the other operations)."
                )
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


def _check_dirty(marked: tuple[Any, ...], inputs: set[int]) -> None:
    """What is no input needs no mark; of a view of an intermediate result it would be wrong."""
    for tensor in marked:
        if id(tensor) in inputs:
            continue
        message = (
            "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have "
            "been mutated should be passed to ctx.mark_dirty()."
        )
        if tensor._base is not None:
            raise RuntimeError(message)
        warnings.warn(message, UserWarning, stacklevel=warning_level())


def _as_own_view(tensor: Tensor, differentiable: bool) -> Tensor:
    """An output in memory that is not its own; a write into it would bypass the custom backward."""
    out = _alias(tensor)
    base = tensor if tensor._base is None else tensor._base
    if not differentiable and tensor._base is None and base.requires_grad:
        return out  # an input handed back where nothing is recorded: detached
    out._base, out._view = base, tensor._view
    out._seen_version = out._version_box[0]
    out._view_creation = "custom"
    if not differentiable:
        out._requires_grad = tensor._requires_grad
    return out


def _alias(tensor: Tensor) -> Tensor:
    out = make(tensor._data)
    out._version_box = tensor._version_box
    kind = type(tensor)
    if kind is not Tensor and speaks(
        kind
    ):  # it is the object that `forward` gave, as far as can be seen
        out = subclass_of(kind, out)
        vars(out).update(vars(tensor))
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
