"""Saved tensors in other form: packed by a user's hooks, or with their tangents of forward mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._tensor.tensor import Tensor, make
from .modes import modes
from .node import Node
from .saved import as_tensor, unpack
from .special import set_tangent


def pack_saved(node: Node, inputs: tuple[Any, ...], out: Any) -> None:
    """Replace what a node saved by packed objects: a user's, or tensors that carry tangents."""
    saved = list(node.saved)
    packed: dict[int, tuple[Any, Callable[[Any], Any]]] = {}
    hooks = modes.saved_hooks[-1] if modes.saved_hooks else None
    slots = range(len(saved)) if not node.op.variadic else (0, 1)
    for i in slots:
        value = saved[i]
        last = i == len(saved) - 1
        if value is None or not (isinstance(value, tuple) or hasattr(value, "dtype")):
            continue
        if isinstance(value, np.generic):
            continue
        slot = -1 if last else i
        if not last and not node.op.variadic and inputs[i] is modes.overwritten:
            # The operation is about to write into what its own rule needs: it keeps a copy.
            inputs = (*inputs[:i], _snapshot(inputs[i], copies=True), *inputs[i + 1 :])
            node.versions = [v for v in node.versions if v[2] != i]
        if hooks is None:
            if last:
                # A copy of the output without its node, which would point back here.
                packed[-1] = (_snapshot(out), _same)
            else:
                held = tuple(inputs) if node.op.variadic else inputs[i]
                packed[slot] = (_snapshot(held), _same)
        else:
            pack, unpack_hook = hooks
            packed[slot] = (_pack(node, slot, value, pack, inputs), checked(unpack_hook))
        saved[i] = None
    node.saved = saved
    node.packed = packed
    node.unusual = True
    if hooks is not None:
        # A packed value is the user's own: in-place changes of the original no longer matter.
        node.versions = []


def overwriting(tensor: Tensor, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """`fn(tensor, …)`, whose result will be written into `tensor`."""
    before, modes.overwritten = modes.overwritten, tensor
    try:
        return fn(tensor, *args, **kwargs)
    finally:
        modes.overwritten = before


def _snapshot(held: Any, copies: bool = False) -> Any:
    """A tensor as it is now, tangents of every level included."""
    if isinstance(held, tuple):
        return tuple(_snapshot(h) for h in held)
    copy = make(np.copy(held._data) if copies else held._data)
    for level, tangent in (held._tangents or {}).items():
        set_tangent(copy, level, tangent.clone() if copies else tangent)
    return copy


class Packed(NamedTuple):
    """What a user's hook made of a tensor, and the shape it must have again."""

    value: Any
    shape: tuple[int, ...]


def _pack(node: Node, slot: int, value: Any, pack: Any, inputs: tuple[Any, ...]) -> Any:
    def packed(tensor: Tensor) -> Packed:
        return Packed(pack(tensor), tensor._data.shape)

    if isinstance(value, tuple):
        tensors = inputs if slot == 0 else [None if v is None else make(v) for v in value]
        return tuple(None if t is None else packed(_plain(t)) for t in tensors)
    if slot >= 0 and isinstance(inputs[slot], Tensor):
        tensor = inputs[slot]
        return packed(tensor if tensor.grad_fn is None else _plain(tensor))
    return packed(make(value))


def _plain(tensor: Tensor) -> Tensor:
    out = make(tensor._data)
    out._version_box = tensor._version_box
    return out


def _same(value: Any) -> Any:
    return value


def checked(unpack_hook: Callable[[Any], Any]) -> Callable[[Packed], Any]:
    def call(packed: Packed) -> Any:
        result = unpack_hook(packed.value)
        if not isinstance(result, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(result).__name__}"
            )
        if result._data.shape != packed.shape:  # by which the rules, and their kernels, go
            raise RuntimeError(
                "Output of saved tensor unpack_hook has another size than the tensor that was packed: "
                f"{list(result._data.shape)}, not {list(packed.shape)}"
            )
        return result

    return call


def unpack_tensors(node: Node) -> Any:
    """What a node saved, with packed values unpacked and given their history again."""
    saved = list(unpack(node))
    for slot, (value, unpack_hook) in node.packed.items():
        variadic = node.op.variadic and slot == 0
        if variadic or (type(value) is tuple and slot == -1 and node.op.outputs != 1):
            parts = tuple(None if v is None else unpack_hook(v) for v in value)
            saved[slot] = tuple(
                None
                if p is None
                else _with_history(node, i if variadic else -1, p, 0 if variadic else i)
                for i, p in enumerate(parts)
            )
        else:
            saved[slot] = _with_history(node, slot, unpack_hook(value), 0)
    for i, value in enumerate(saved):
        slot = -1 if i == len(saved) - 1 else i
        if value is not None and not isinstance(value, (Tensor, tuple)):
            saved[i] = as_tensor(node, slot, value)
    return saved


def _with_history(node: Node, slot: int, tensor: Tensor, nr: int) -> Tensor:
    if slot >= 0 and node.edges[slot] is not None and node.edges[slot].is_leaf_edge:
        leaf = node.edges[slot]
        if leaf._data is tensor._data and not leaf._tangents and not tensor._tangents:
            return leaf  # type: ignore[no-any-return]
    out: Tensor = as_tensor(node, slot, tensor._data)
    if out._tangents is not tensor._tangents:
        if out is not tensor and out.is_leaf_edge and out._node is None and out._requires_grad:
            return out
        out._tangents = tensor._tangents
    if slot < 0:
        out._output_nr = nr
        if nr not in node.op.differentiable_outputs and node.op.outputs > 1:
            out._node = None
    return out
