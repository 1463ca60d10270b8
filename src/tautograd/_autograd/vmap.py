"""`vmap`: run a function written for one example on a whole batch at once.

Each input becomes a tensor whose array hides its batch dimension (`_arrays.batched`); operations
and their gradients then run on all examples without knowing it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from .._arrays.batched import BatchedArray, put_level, sum_level, take_level
from .._ops.record import LINEAR, Op
from .._tensor.tensor import Tensor
from .apply import apply
from .modes import modes
from .trees import leaves, map_tree, rebuild

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
    internal=True,
)
from_batched_op = Op(
    "from_batched",
    take_level,
    ("x",),
    vjp={"x": lambda g, axis, level: to_batched_op(g, axis=axis, level=level)},
    jvp=LINEAR,
    opmath=False,
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
        modes.vmap_levels = (*modes.vmap_levels, level)
        return level

    def __exit__(self, *exc: object) -> None:
        modes.vmap_levels = modes.vmap_levels[:-1]


def batch(tensor: Tensor, axis: int, level: Level) -> Tensor:
    """A tensor as one example of itself along `axis`."""
    out: Tensor = apply(to_batched_op, (tensor,), {"axis": axis, "level": level.number})
    return out


def unbatch(tensor: Tensor, axis: int, level: Level) -> Tensor:
    """All examples of a tensor, stacked along `axis`."""
    parameters = {"axis": axis, "level": level.number, "size": level.size}
    out: Tensor = apply(from_batched_op, (tensor,), parameters)
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
    if chunk_size is not None and not (isinstance(chunk_size, int) and chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        dims = _expand_dims(in_dims, args, func)
        flat = leaves(args)
        size = _batch_size(flat, dims, func)
        if chunk_size is None or size <= chunk_size:
            return _run(func, args, kwargs, flat, dims, size, out_dims, randomness)
        return _in_chunks(func, args, kwargs, flat, dims, size, out_dims, randomness, chunk_size)

    return mapped


def _name(func: Any) -> str:
    return getattr(func, "__name__", repr(func))


def _expand_dims(in_dims: Any, args: tuple[Any, ...], func: Any) -> list[Any]:
    """One batch dimension (or None) per leaf of the arguments."""
    if not isinstance(in_dims, (int, tuple, list)) or isinstance(in_dims, bool):
        raise ValueError(
            f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int "
            "or a (potentially nested) tuple matching the structure of inputs, got: "
            f"{type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you "
            "are trying to vmap over a function with no inputs. The latter is unsupported."
        )

    return _spread(in_dims, args, in_dims, func)


def _spread(spec: Any, tree: Any, in_dims: Any, func: Any) -> list[Any]:
    """The part `spec` of in_dims, for each leaf of a part of the arguments."""
    if isinstance(tree, dict):
        values = list(tree.values())
        specs = [spec[k] for k in tree] if isinstance(spec, dict) else [spec] * len(values)
    elif isinstance(tree, (list, tuple)):
        values = list(tree)
        if not isinstance(spec, (list, tuple)):
            specs = [spec] * len(values)
        elif len(spec) == len(values):
            specs = list(spec)
        else:
            raise ValueError(
                f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible "
                f"with the structure of inputs. in_dims has {len(spec)} elements but inputs has "
                f"{len(values)}."
            )
    else:
        return [_check_dim(spec, tree, in_dims, func)]
    pairs = zip(specs, values, strict=True)
    return [dim for s, v in pairs for dim in _spread(s, v, in_dims, func)]


def _check_dim(dim: Any, leaf: Any, in_dims: Any, func: Any) -> Any:
    prefix = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{prefix}Got in_dim={dim} for an input but in_dim must be either an integer dimension "
            "or None."
        )
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"{prefix}Got in_dim={dim} for an input but the input is of type {type(leaf)}. We "
            "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -leaf.ndim <= dim < leaf.ndim:
        raise ValueError(
            f"{prefix}Got in_dim={dim} for some input, but that input is a Tensor of "
            f"dimensionality {leaf.ndim} so expected in_dim to satisfy -{leaf.ndim} <= in_dim < "
            f"{leaf.ndim}."
        )
    return dim % leaf.ndim


def _batch_size(flat: list[Any], dims: list[Any], func: Any) -> int:
    sizes = [x.shape[d] for x, d in zip(flat, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): at least one input must be mapped over (in_dims are "
            "all None)"
        )
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return int(sizes[0])


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
        outputs = func(*rebuild(args, batched), **kwargs)
        return _unwrap(outputs, out_dims, level, func)


def _unwrap(outputs: Any, out_dims: Any, level: Level, func: Any) -> Any:
    found = leaves(outputs)
    specs = leaves(out_dims) if isinstance(out_dims, (tuple, list)) else [out_dims] * len(found)
    if len(specs) == 1 and len(found) > 1:
        specs = specs * len(found)
    if len(specs) != len(found):
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims}): out_dims is not compatible with the "
            f"structure of outputs: {len(specs)} dims for {len(found)} outputs."
        )
    values = []
    for value, dim in zip(found, specs, strict=True):
        if not isinstance(value, Tensor):
            raise ValueError(
                f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type "
                f"{type(value)}. Did you mean to set out_dims= to None for output?"
            )
        if dim is None:
            if isinstance(value._data, BatchedArray) and value._data.level == level.number:
                raise ValueError(
                    f"vmap({_name(func)}, ...): `{_name(func)}` can not return a BatchedTensor "
                    "when out_dim is None"
                )
            values.append(value)
        else:
            rank = value.ndim + 1
            if not -rank <= dim < rank:
                raise IndexError(
                    f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], "
                    f"but got {dim})"
                )
            values.append(unbatch(value, dim % rank, level))
    return rebuild(outputs, values)


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
    from .._ops.public import FUNCTIONS

    pieces = []
    for start in range(0, size, step):
        count = min(step, size - start)
        part = [
            x if d is None else x.narrow(d, start, count) for x, d in zip(flat, dims, strict=True)
        ]
        pieces.append(
            _run(func, rebuild(args, part), kwargs, part, dims, count, out_dims, randomness)
        )
    specs = leaves(out_dims) if isinstance(out_dims, (tuple, list)) else [out_dims]
    columns = list(zip(*(leaves(piece) for piece in pieces), strict=True))
    specs = specs * len(columns) if len(specs) == 1 else specs
    joined = [
        column[0] if d is None else FUNCTIONS["cat"](list(column), dim=d)
        for column, d in zip(columns, specs, strict=True)
    ]
    return rebuild(pieces[0], joined)


__all__ = ["batch", "map_tree", "open_level", "unbatch", "vmap"]
