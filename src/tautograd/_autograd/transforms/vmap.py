"""`vmap`: run a function written for one example on a whole batch at once.

Each input becomes a tensor whose array hides its batch dimension (`_arrays.batching.batched`); operations
and their gradients then run on all examples without knowing it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from ..._arrays.batching.batched import BatchedArray
from ..._arrays.batching.levels import levels_of, put_level, show_level, sum_level, take_level
from ..._ops.declare.record import LINEAR, Op
from ..._random import default_generator
from ..._tensor.tensor import Tensor
from ..._trees.nests import TUPLES_LISTS_DICTS as NESTS
from ..apply import apply
from ..modes import change, modes
from .batch_dims import batch_size, check_out_dims, flat_in_dims, flat_out_dims, name_of

to_batched_op = Op(
    "to_batched",
    put_level,
    ("x",),
    vjp={
        "x": lambda g, axis, level, x_shape: from_batched_op(
            g, axis=axis, level=level, size=x_shape[axis]
        )
    },
    jvp=LINEAR,
    opmath=False,
    is_view=True,
    internal=True,
)
from_batched_op: Op = Op(
    "from_batched",
    take_level,
    ("x",),
    vjp={"x": lambda g, axis, level: to_batched_op(g, axis=axis, level=level)},
    jvp=LINEAR,
    opmath=False,
    internal=True,
)
# Where a batch is there to be shown, not made, it is shown: the result is a view.
show_batch_op: Op = Op(
    "show_batch",
    show_level,
    ("x",),
    vjp={"x": lambda g, axis, level: to_batched_op(g, axis=axis, level=level)},
    jvp=LINEAR,
    opmath=False,
    is_view=True,
    internal=True,
)
# A gradient that arrives for each example at a tensor they share. Its own gradient is the same for
# each example, which needs no copies.
sum_batch_op = Op(
    "sum_batch",
    sum_level,
    ("x",),
    vjp={"x": lambda g: g},
    jvp=LINEAR,
    internal=True,
)


# Never used again, so that a graph recorded in one vmap cannot be taken for a part of another.
_next_number = itertools.count(1).__next__


class Level:
    """One `vmap` in progress: its number, its batch size and what random numbers it allows."""

    __slots__ = ("number", "randomness", "size")

    def __init__(self, number: int, size: int, randomness: str) -> None:
        self.number = number
        self.size = size
        self.randomness = randomness


class open_level:
    """A `vmap` level, open for the length of a `with` block."""

    def __init__(self, size: int, randomness: str = "error") -> None:
        self.size = size
        self.randomness = randomness

    def __enter__(self) -> Level:
        level = Level(_next_number(), self.size, self.randomness)
        change(vmap_levels=(*modes.vmap_levels, level))
        return level

    def __exit__(self, *exc: object) -> None:
        change(vmap_levels=modes.vmap_levels[:-1])


def batch(tensor: Tensor, axis: int, level: Level) -> Tensor:
    """A tensor as one example of itself along `axis`."""
    out: Tensor = apply(to_batched_op, (tensor,), {"axis": axis, "level": level.number})
    return out


def unbatch(tensor: Tensor, axis: int, level: Level) -> Tensor:
    """All examples of a tensor, stacked along `axis`."""
    parameters: dict[str, Any] = {"axis": axis, "level": level.number}
    if level.number in levels_of(tensor._data):
        shown: Tensor = apply(show_batch_op, (tensor,), parameters)
        return shown
    out: Tensor = apply(from_batched_op, (tensor,), {**parameters, "size": level.size})
    return out


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that maps `func` over a dimension of its inputs, all examples at once.

    `in_dims` says which dimension of each input is the batch (None: the same input for all),
    `out_dims` where it goes in the outputs, `chunk_size` how many examples to run at a time.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if chunk_size is not None and not chunk_size > 0:  # NaN is neither
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        check_out_dims(out_dims, func)
        dims = flat_in_dims(in_dims, args, func)
        flat = NESTS.leaves(args)
        size = batch_size(flat, dims)
        if chunk_size is None or size <= chunk_size:
            return _run(func, args, kwargs, flat, dims, size, out_dims, randomness)
        step = max(int(chunk_size), 1)
        return _in_chunks(func, args, kwargs, flat, dims, size, out_dims, randomness, step)

    return mapped


def _run(
    func: Any,
    args: Any,
    kwargs: Any,
    flat: Any,
    dims: Any,
    size: int,
    out_dims: Any,
    randomness: str,
) -> Any:
    with open_level(size, randomness) as level:
        batched = [x if d is None else batch(x, d, level) for x, d in zip(flat, dims, strict=True)]
        outputs = func(*NESTS.filled(args, batched), **kwargs)
        return _unwrap(outputs, out_dims, level, func)


def _unwrap(outputs: Any, out_dims: Any, level: Level, func: Any) -> Any:
    dims = flat_out_dims(out_dims, outputs, func)
    found = zip(NESTS.leaves(outputs), dims, strict=True)
    return NESTS.filled(outputs, [_unwrap_one(value, dim, level, func) for value, dim in found])


def _unwrap_one(value: Any, dim: int | None, level: Level, func: Any) -> Any:
    name = name_of(func)
    if dim is None:
        batched = isinstance(value, Tensor) and isinstance(value._data, BatchedArray)
        if batched and value._data.level == level.number:
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
        return value
    if not isinstance(value, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(value)}. Did "
            "you mean to set out_dims= to None for output?"
        )
    rank = value.ndim + 1
    if not isinstance(dim, int):
        raise TypeError(
            f"vmap({name}, ...): `out_dims` must be integers or None, got type {type(dim)}"
        )
    if not -rank <= dim < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], "
            f"but got {dim})"
        )
    return unbatch(value, dim % rank, level)


def _in_chunks(
    func: Any,
    args: Any,
    kwargs: Any,
    flat: Any,
    dims: Any,
    size: int,
    out_dims: Any,
    randomness: str,
    step: int,
) -> Any:
    from ..._ops.declare.public import FUNCTIONS

    pieces = []
    state = default_generator.get_state() if randomness == "same" else None
    for start in range(0, size, step):
        if state is not None:  # the same for all examples, whichever chunk they are in
            default_generator.set_state(state)
        count = min(step, size - start)
        part = [
            x if d is None else x.narrow(d, start, count) for x, d in zip(flat, dims, strict=True)
        ]
        pieces.append(
            _run(func, NESTS.filled(args, part), kwargs, part, dims, count, out_dims, randomness)
        )
    specs = flat_out_dims(out_dims, pieces[0], func)
    columns = list(zip(*(NESTS.leaves(piece) for piece in pieces), strict=True))
    joined = [
        column[0] if d is None else FUNCTIONS["cat"](list(column), dim=d)
        for column, d in zip(columns, specs, strict=True)
    ]
    return NESTS.filled(pieces[0], joined)


__all__ = ["batch", "open_level", "unbatch", "vmap"]
