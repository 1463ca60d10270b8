"""Copies of copies: repeat, tile, repeat_interleave."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.checks import require_nonnegative
from ..._arrays.dtypes import LEGACY_NAMES
from ..._arrays.formats import contiguous_format
from ..._autograd.apply import apply
from ..._autograd.lifted import counterpart
from ..._tensor.tensor import Tensor, make
from ..declare.dims import require_int, wrap_dim
from ..declare.elementwise_calls import require_tensor
from ..declare.public import FUNCTIONS, public
from ..declare.record import LINEAR, Op
from ..declare.samples import Sample, T
from ..declare.shapes import ints
from .broadcasting import expand_to
from .rearranging import clone
from .squeeze import unsqueeze
from .views import flatten, view_to


def _interleaved(shape: tuple[int, ...], repeats: tuple[int, ...]) -> tuple[int, ...]:
    """(r0, n0, r1, n1, …): each dimension split into its repetitions and what is repeated."""
    padded = (1,) * (len(repeats) - len(shape)) + tuple(shape)
    return tuple([n for pair in zip(repeats, padded, strict=True) for n in pair])


def _repeat(x: Any, repeats: tuple[int, ...]) -> Any:
    padded = (1,) * (len(repeats) - len(x.shape)) + tuple(x.shape)
    shape = tuple([r * n for r, n in zip(repeats, padded, strict=True)])
    if 0 in shape:  # the counts of the other dimensions may be larger than any array's, or negative
        return np.empty_like(x, shape=shape)
    ones = _interleaved(x.shape, (1,) * len(repeats))
    spread = np.broadcast_to(np.reshape(x, ones), _interleaved(x.shape, repeats))
    return np.reshape(np.copy(spread, order="C"), shape)


def _sum_repeats(g: Any, x_shape: Any, repeats: tuple[int, ...]) -> Any:
    if 0 in repeats:
        return np.zeros_like(g, shape=x_shape)
    apart = np.reshape(g, _interleaved(x_shape, repeats))
    summed = np.sum(apart, axis=tuple(range(0, 2 * len(repeats), 2)))
    return np.reshape(summed, x_shape)


repeat_op = Op(
    "repeat",
    _repeat,
    ("x",),
    vjp={"x": _sum_repeats},
    jvp=LINEAR,
    public="Tensor.repeat",
    samples=lambda: [
        Sample(T(2, 3), 2, 1),
        Sample(T(2), (2, 3)),
        Sample(T(), 3),
        Sample(T(), ()),
        Sample(T(2, 3), 0, 2),
        Sample(T(0, 2), 2, 2),
        Sample(T(2, 3, layout="transposed"), 1, 2),
    ],
)


def repeat_by(input: Tensor, repeats: tuple[int, ...]) -> Tensor:
    """`repeat` with counts that have been parsed."""
    shape = input._data.shape
    if len(repeats) < len(shape):
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    padded = (1,) * (len(repeats) - len(shape)) + shape
    target = [r * n for r, n in zip(repeats, padded, strict=True)]
    for extent in target:
        if extent < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {extent}: {target}"
            )
    result: Tensor = apply(repeat_op, (input,), {"repeats": repeats})
    return result


@public(function=False, out=False)
def repeat(self: Tensor, *repeats: Any, **given: Any) -> Tensor:
    """A copy with the whole tensor repeated along each dimension; new ones come first."""
    return repeat_by(self, ints("repeat", "repeats", repeats, given))


def _tile(input: Tensor, dims: tuple[int, ...]) -> Tensor:
    return repeat_by(input, (1,) * (input._data.ndim - len(dims)) + dims)


@public(method=False, out=False)
def tile(input: Any, dims: Any) -> Tensor:
    """`repeat`, with the counts for the last dimensions if there are fewer than dimensions."""
    require_tensor("tile", input)
    return _tile(input, ints("tile", "dims", (dims,), {}))


@public("tile", function=False, out=False)
def tile_method(self: Tensor, *dims: Any, **given: Any) -> Tensor:
    """`repeat`, with the counts for the last dimensions if there are fewer than dimensions."""
    return _tile(self, ints("tile", "dims", dims, given))


# --- element by element ---------------------------------------------------------------------------


def _positions(repeats: Tensor, output_size: Any) -> Tensor:
    """0 `repeats[0]` times, 1 `repeats[1]` times, and so on."""
    counts = repeats._data
    if counts.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if counts.dtype not in (np.int64, np.int32):
        raise NotImplementedError(
            f"\"repeat_interleave_cpu\" not implemented for '{LEGACY_NAMES[repeats.dtype]}'"
        )
    require_nonnegative(counts, lambda _: RuntimeError("repeats can not be negative"), waits=True)
    found = np.repeat(np.arange(counts.shape[0], dtype=counts.dtype, like=counts), counts)
    if output_size is not None and output_size != found.shape[0]:
        raise RuntimeError("allocated size does not match required size")
    return make(found)


@public(out=False)
def repeat_interleave(input: Any, *args: Any, **given: Any) -> Tensor:
    """Each element (or each index of `dim`) repeated so many times, one after the other.

    Given counts alone, the positions they stand for: `[2, 1]` gives `[0, 0, 1]`.
    """
    options = dict(zip(("repeats", "dim"), args, strict=False)) | given
    repeats, dim = options.pop("repeats", None), options.pop("dim", None)
    size = options.pop("output_size", None)
    require_tensor("repeat_interleave", input)
    if repeats is None:
        return _positions(input, size)
    if isinstance(repeats, Tensor):
        return _by_counts(input, repeats, dim, size)
    try:
        count = require_int(repeats, "repeat_interleave", "repeats")
    except TypeError:
        shown = ", ".join([type(v).__name__ for v in args])
        raise TypeError(
            f"repeat_interleave() received an invalid combination of arguments - got ({shown}), "
            "but expected one of:\n * (Tensor repeats, int dim = None, *, int output_size = None)\n"
            " * (int repeats, int dim = None, *, int output_size = None)\n"
        ) from None
    source: Tensor = input if dim is not None else flatten(input)
    dim = wrap_dim(0 if dim is None else dim, source._data.ndim, "repeat_interleave")
    if count < 0:
        raise RuntimeError("Repeats must be non-negative")
    shape = source._data.shape
    spread = expand_to(unsqueeze(source, dim + 1), (*shape[: dim + 1], count, *shape[dim + 1 :]))
    copied = clone(spread, memory_format=contiguous_format)
    return view_to(copied, (*shape[:dim], shape[dim] * count, *shape[dim + 1 :]))


def _by_counts(input: Tensor, repeats: Tensor, dim: Any, size: Any) -> Tensor:
    source: Tensor = input if dim is not None else flatten(input)
    dim = wrap_dim(0 if dim is None else dim, source._data.ndim, "repeat_interleave")
    extent = source._data.shape[dim] if source._data.ndim else 1
    counts = repeats._data
    if counts.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if counts.ndim == 0 or counts.shape == (1,):
        repeats = expand_to(view_to(repeats, (1,)), (extent,))
    elif counts.ndim == 1 and counts.shape[0] != extent:
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{counts.shape[0]} and input.size({dim}) = {extent}"
        )
    result: Tensor = FUNCTIONS["index_select"](source, dim, _positions(repeats, size))
    return result


counterpart(np.tile)(lambda x, reps: _tile(x, ints("tile", "reps", (reps,), {})))


@counterpart(np.repeat)
def _np_repeat(x: Tensor, repeats: Any, axis: Any = None) -> Tensor:
    return repeat_interleave(x, repeats, axis)
