"""What a call gives: its outputs, its gradients and the gradients of those, or its error.

`measure(call, order)` is the same code on both engines, so whatever it finds can be compared item
by item. Cotangents are seeded by the place of the output, hence alike on both.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import DIFFERENTIABLE, array_for
from .cases import TORCH, Call, T
from .departures import STANDS_FOR


@dataclass(frozen=True)
class Item:
    """One tensor that a call gave: its values and what else a user can see of it."""

    array: Any
    dtype: str
    strides: tuple[int, ...]
    node: str | None = None
    requires_grad: bool = False
    aliases: int | None = None  # which tensor argument it shares memory with


@dataclass
class Outcome:
    """Items by name ("out0", "grad1", "second0"), plain Python results, or the error raised."""

    items: dict[str, Any]
    error: Exception | None = None
    stage: str = ""


def measure(call: Call, order: int, fn: Callable[..., Any] | None = None) -> Outcome:
    """Run a call and differentiate it `order` times."""
    outcome = Outcome({})
    try:
        outcome.stage = "forward"
        outs = flatten(call.run(fn), call.engine)
        for i, out in enumerate(outs):
            outcome.items[f"out{i}"] = _item(call, out)
        if order:
            outcome.stage = "backward"
            _gradients(call, outs, order, outcome)
    except Exception as error:
        outcome.error = error
    return outcome


def flatten(result: Any, engine: Any) -> list[Any]:
    """The outputs of a call as a flat list; a dtype as its name."""
    if engine.is_tensor(result) or not isinstance(result, (tuple, list)):
        return [result]
    if type(result).__name__ == "Size":
        return [tuple(result)]
    return [leaf for part in result for leaf in flatten(part, engine)]


def _gradients(call: Call, outs: list[Any], order: int, outcome: Outcome) -> None:
    engine = call.engine
    roots = [(i, o) for i, o in enumerate(outs) if engine.is_tensor(o) and o.requires_grad]
    if not roots or not call.leaves:
        return
    cotangents = [cotangent(call, o, i, order > 1) for i, o in roots]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grads = engine.grad(
            [o for _, o in roots],
            call.leaves,
            cotangents,
            allow_unused=True,
            create_graph=order > 1,
        )
        _note(call, outcome, "grad", grads)
        live = [(i, g) for i, g in enumerate(grads) if g is not None and g.requires_grad]
        if order == 1 or not live:
            return
        outcome.stage = "second backward"
        wrt = [*call.leaves, *cotangents]
        seconds = engine.grad(
            [g for _, g in live],
            wrt,
            [cotangent(call, g, 100 + i, False) for i, g in live],
            allow_unused=True,
        )
    _note(call, outcome, "second", seconds)


def cotangent(call: Call, like: Any, seed: int, grad: bool) -> Any:
    """A seeded gradient for one output."""
    name = str(like.dtype).removeprefix("torch.")
    dtype = STANDS_FOR.get(name, name)
    array = array_for(T(*like.shape, low=-1, high=1, seed=1000 + seed), dtype)
    tensor = call.engine.tensor(array).to(like.dtype)
    if call.nudge is not None:
        tensor = call.nudge(tensor)
    return tensor.requires_grad_() if grad else tensor


def _note(call: Call, outcome: Outcome, name: str, tensors: Any) -> None:
    for i, tensor in enumerate(tensors):
        outcome.items[f"{name}{i}"] = None if tensor is None else _item(call, tensor)


def _item(call: Call, out: Any) -> Any:
    engine = call.engine
    if not engine.is_tensor(out):
        return str(out) if isinstance(out, type(engine.dtype("float32"))) else out
    array = engine.array(out)
    node = out.grad_fn
    return Item(
        np.array(array, order="C"),
        str(out.dtype).removeprefix("torch."),
        visible_strides(engine, out, array),
        None if node is None else node.name(),
        bool(out.requires_grad),
        next((i for i, t in enumerate(call.tensors) if _shares(engine, out, t)), None),
    )


def visible_strides(engine: Any, out: Any, array: np.ndarray) -> tuple[int, ...]:
    """Strides in elements; a dimension that never steps (size 0 or 1) has none to speak of."""
    strides = out.stride() if engine is TORCH else [s // array.itemsize for s in array.strides]
    if 0 in array.shape:
        return (0,) * array.ndim
    return tuple(0 if n == 1 else s for n, s in zip(array.shape, strides, strict=True))


def _shares(engine: Any, out: Any, other: Any) -> bool:
    if not out.shape.numel() or not other.shape.numel():
        return False
    if engine is TORCH and out._is_zerotensor():
        return False
    if engine is TORCH:
        return out.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
    return np.may_share_memory(out._data, other._data)


def order_for(dtype: str) -> int:
    """How often to differentiate: twice where precision allows a second difference."""
    if dtype in ("float64", "complex128"):
        return 2
    return 1 if dtype in DIFFERENTIABLE else 0
