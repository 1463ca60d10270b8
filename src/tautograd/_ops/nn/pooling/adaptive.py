"""Pools that are told the size of their output: windows as even as they can be, a size of their own each."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...._arrays.result_layout import as_channels, each, in_c_order
from ...._autograd.apply import apply
from ...._tensor.tensor import Tensor
from ...declare.autocasting import autocasting
from ...declare.elementwise_calls import refuse, require_tensor
from ...declare.public import FUNCTIONS, NN_FUNCTIONAL, public
from ...declare.record import LINEAR, Op
from ...declare.samples import Sample, T
from ...declare.signature_line import declared
from ...declare.undefined_dtypes import no_kernel
from ..convolution.windows import Ints, int_of, offsets
from ..line_maps import Maps, apply_maps, constant, summing, transposed
from .flat_positions import picked, placed


def _bounds(size: int, count: int) -> tuple[Any, Any]:
    """Where each of `count` windows over `size` elements begins and ends."""
    number = np.arange(count)
    return number * size // count, -(-(number + 1) * size // count)


@functools.lru_cache(maxsize=128)
def _sums(size: Ints, count: Ints) -> tuple[Maps, Any]:
    """Maps that add up windows, and the number of elements of each."""
    maps, area = [], np.ones((), np.int64)
    for n, c in zip(size, count, strict=True):
        begin, end = _bounds(n, c)
        maps.append(summing(n, begin, end))
        area = np.multiply.outer(area, end - begin)
    return tuple(maps), area


def _check_gradient(g: Any, name: str, rank: int) -> Any:
    """A gradient of no windows says nothing of the input, and PyTorch refuses it."""
    shape = tuple(g.shape)
    for d in range(len(shape) - rank - (rank == 3), len(shape)):
        if not shape[d] and d:
            raise RuntimeError(
                f"{name}_backward(): Expected grad_output to have non-zero size for non-batch "
                f"dimensions, but grad_output has sizes {list(shape)} with dimension {d} being empty"
            )
    return g


def _means(x: Any, size: Ints, count: Ints) -> Any:
    maps, area = _sums(size, count)
    return apply_maps(x, maps) / constant(area.astype(x.dtype), x)


def _shares(x: Any, size: Ints, count: Ints) -> Any:
    maps, area = _sums(size, count)
    return apply_maps(x / constant(area.astype(x.dtype), x), transposed(maps))


adaptive_average_spread_op: Op = Op(
    "adaptive_average_spread",
    _shares,
    ("x",),
    vjp={"x": lambda g, size, count: ADAPTIVE_AVERAGES[2](g, size=size, count=count)},
    jvp=LINEAR,
)
_SHAPES = {2: (2, 2, 5, 7), 3: (1, 2, 4, 5, 3)}


def _average(rank: int) -> Op:
    label = "adaptive_avg_pool2d" if rank == 2 else "adaptive_avg_pool3d_cpu"
    shape = _SHAPES[rank]
    return Op(
        f"adaptive_avg_pool{rank}d",
        _means,
        ("x",),
        layout=as_channels if rank == 2 else in_c_order,
        node=f"AdaptiveAvgPool{rank}DBackward0",
        vjp={
            "x": lambda g, size, count: adaptive_average_spread_op(
                _check_gradient(g, f"adaptive_avg_pool{rank}d", rank), size=size, count=count
            )
        },
        jvp=LINEAR,
        public=f"nn.functional.adaptive_avg_pool{rank}d",
        refuses=no_kernel(label, "bic"),
        samples=lambda: [
            Sample(T(*shape), 3),
            Sample(T(*shape[1:]), (2, 9, 1)[:rank]),
            Sample(T(*shape), (None, 2, 4)[:rank]),
            Sample(T(0, *shape[1:]), 2),
        ],
    )


ADAPTIVE_AVERAGES: dict[int, Op] = {rank: _average(rank) for rank in (2, 3)}


@functools.lru_cache(maxsize=64)
def _lines(size: Ints, count: Ints) -> list[Any]:
    """For each dimension, the elements of every window; the last one again where it is shorter."""
    found = []
    for n, c in zip(size, count, strict=True):
        begin, end = _bounds(n, c)
        longest = int(np.max(end - begin, initial=0))
        found.append(np.minimum(begin[:, None] + np.arange(longest), end[:, None] - 1))
    return found


_MANY = 64
"""Elements of a window from which on each window is searched by itself, not element after element."""


def _even_windows(x: Any, size: Ints, count: Ints) -> Any:
    """Maxima and positions where all windows are of one size, and large; None elsewhere."""
    if type(x) is not np.ndarray or x.dtype.kind not in "fiu" or not x.size or 0 in count:
        return None
    kernel = tuple([n // c for n, c in zip(size, count, strict=True)])
    if any(n % c for n, c in zip(size, count, strict=True)) or math.prod(kernel) < _MANY:
        return None
    rank, first = len(size), x.ndim - len(size)
    split = [m for pair in zip(count, kernel, strict=True) for m in pair]
    order = [
        *range(first),
        *range(first, first + 2 * rank, 2),
        *range(first + 1, first + 2 * rank, 2),
    ]
    apart = np.transpose(np.reshape(x, (*x.shape[:first], *split)), order)
    windows = np.reshape(apart, (*x.shape[:first], *count, math.prod(kernel)))
    winner = np.argmax(windows, axis=-1)
    best = np.take_along_axis(windows, winner[..., None], axis=-1)[..., 0]
    if x.dtype.kind == "f" and np.isnan(best).any():  # of several NaN the last one counts
        return None
    inside = np.unravel_index(winner, kernel)
    begins = np.meshgrid(
        *[np.arange(c) * k for c, k in zip(count, kernel, strict=True)], indexing="ij"
    )
    position = np.zeros_like(winner)
    for extent, begin, step in zip(size, begins, inside, strict=True):
        position = position * extent + begin + step
    return best, np.astype(position, np.int64)


def _maxima(x: Any, size: Ints, count: Ints) -> Any:
    found = _even_windows(x, size, count)
    if found is not None:
        return found
    lines = _lines(size, count)
    first = x.ndim - len(size)
    places, positions = [], []
    for offset in offsets(tuple([line.shape[1] for line in lines])):
        place, position = x, np.zeros((), np.int64)
        for d, (o, line) in enumerate(zip(offset, lines, strict=True)):
            place = np.take(place, constant(line[:, o], x), axis=first + d)
            position = np.add.outer(position * size[d], line[:, o])
        places.append(place)
        positions.append(position)
    if not places:  # no windows were asked for
        none = (*x.shape[:first], *count)
        return np.zeros_like(x, shape=none), np.zeros_like(x, shape=none, dtype=np.int64)
    best = places[0]
    for place in places[1:]:
        best = np.maximum(best, place)
    return best, winning_positions(best, places, [constant(p, x) for p in positions])


def winning_positions(best: Any, places: list[Any], positions: list[Any]) -> Any:
    """The flat position of the first largest element of every window, or of its last NaN."""
    found = np.zeros_like(best, dtype=np.int64, order="C")
    if best.dtype.kind in "fV":
        for place, position in zip(places, positions, strict=True):
            found = np.where(np.not_equal(place, place), position, found)
    for place, position in zip(reversed(places), reversed(positions), strict=True):
        found = np.where(np.equal(place, best), position, found)
    return found


def _max(rank: int) -> Op:
    label = "adaptive_max_pool2d" if rank == 2 else "adaptive_max_pool3d_cpu"
    shape = _SHAPES[rank]

    def image(*given: int) -> T:
        return T(*given, kind="distinct")

    return Op(
        f"adaptive_max_pool{rank}d",
        _maxima,
        ("x",),
        layout=each(as_channels if rank == 2 else in_c_order),
        node=f"AdaptiveMaxPool{rank}DBackward0",
        vjp={
            "x": lambda g, out1, size: placed(
                _check_gradient(g, f"adaptive_max_pool{rank}d", rank), out1, size
            )
        },
        jvp={"x": lambda t, out1, size: (picked(t, out1, len(size)), None)},
        outputs=2,
        differentiable_outputs=(0,),
        opmath=False,
        public=f"nn.functional.adaptive_max_pool{rank}d_with_indices",
        refuses=no_kernel(label, "bic"),
        samples=lambda: [
            Sample(image(*shape), 3),
            Sample(image(*shape[1:]), (2, 9, 1)[:rank]),
            Sample(image(*shape), (None, 2, 4)[:rank]),
            Sample(T(*shape, kind="ties"), 2),
            Sample(image(0, *shape[1:]), 2),
        ],
    )


ADAPTIVE_MAXIMA = {rank: _max(rank) for rank in (2, 3)}


def _line_of(name: str, input: Any, output_size: Any) -> int:
    """The length of the output of a pool over one dimension."""
    require_tensor(name, input)
    ndim = input._data.ndim
    if ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {ndim}-dimensional tensor for argument #1 "
            f"'self' (while checking arguments for {name})"
        )
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,)
    if len(given) != 1:
        raise RuntimeError(
            f"{name}() argument 'output_size' should contain one int (got {len(given)})"
        )
    return int_of(given[0])


def _count(name: str, input: Any, output_size: Any, rank: int) -> Ints:
    """The size of the output; None keeps the input's."""
    shape = tuple(input._data.shape)
    if not isinstance(output_size, (tuple, list)):
        count = int_of(output_size)
        return (count,) * rank
    if len(shape) <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    if len(output_size) != rank:
        raise RuntimeError(f"{name}: output_size must be {rank}")
    last = shape[-rank:]
    return tuple([n if g is None else int_of(g) for g, n in zip(output_size, last, strict=True)])


def _check(name: str, shape: Ints, rank: int, colon: str) -> None:
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"{name}(): Expected {rank + 1}D or {rank + 2}D tensor, but got{colon} {list(shape)}"
        )
    first = (
        len(shape) - rank if name == "adaptive_avg_pool2d" else 1
    )  # the first is the batch, or may be
    for d in range(first, len(shape)):
        if not shape[d]:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but "
                f"input has sizes {list(shape)} with dimension {d} being empty"
            )


def _averaged(rank: int, input: Any, output_size: Any) -> Tensor:
    name = f"adaptive_avg_pool{rank}d"
    require_tensor(name, input)
    count = _count(name, input, output_size, rank)
    if min(count) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received "
            "{" + ", ".join(map(str, count)) + "}"
        )
    shape = tuple(input._data.shape)
    if set(count) == {1} and len(shape) >= rank:
        mean: Tensor = input.mean(tuple(range(-rank, 0)), True)
        return mean
    _check(name, shape, rank, "")
    op = ADAPTIVE_AVERAGES[rank]
    if rank == 2 and input._data.dtype.kind in "iub" and 0 in (*shape, *count):
        return input.new_empty((*shape[:-rank], *count))  # type: ignore[no-any-return]
    refuse(op, input._data.dtype)
    size = shape[len(shape) - rank :]
    result: Tensor = apply(op, (input,), {"size": size, "count": count})
    return result


def _largest(rank: int, input: Any, output_size: Any, return_indices: bool) -> Any:
    name = f"adaptive_max_pool{rank}d"
    require_tensor(name, input)
    count = _count(name, input, output_size, rank)
    if len(count) != rank:
        raise RuntimeError(f"{name}(): output_size must be {rank} numbers, but got {len(count)}")
    shape = tuple(input._data.shape)
    _check(name, shape, rank, ":")
    if min(count) < 0:
        lead = shape[: len(shape) - rank]
        worst = min(count)
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {worst}: {[*lead, *count]}"
        )
    op = ADAPTIVE_MAXIMA[rank]
    refuse(op, input._data.dtype)
    size = shape[len(shape) - rank :]
    found = apply(op, (input,), {"size": size, "count": count})
    return found if return_indices else found[0]


@public(method=False, out=False)
def adaptive_avg_pool1d(input: Any, output_size: Any) -> Tensor:
    """Means of `output_size` windows along the last dimension."""
    count = _line_of("adaptive_avg_pool1d", input, output_size)
    dim = input._data.ndim - 1
    return _averaged(2, input.unsqueeze(dim), (1, count)).squeeze(dim)


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def adaptive_avg_pool2d(input: Any, output_size: Any) -> Tensor:
    """Means of as many windows of an image as asked for."""
    return _averaged(2, input, output_size)


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def adaptive_avg_pool3d(input: Any, output_size: Any) -> Tensor:
    """Means of as many windows of a volume as asked for."""
    return _averaged(3, input, output_size)


def _largest_of_line(input: Any, output_size: Any) -> Any:
    count = _line_of("adaptive_max_pool1d", input, output_size)
    dim = input._data.ndim - 1
    best, indices = _largest(2, input.unsqueeze(dim), (1, count), True)
    return best.squeeze(dim), indices.squeeze(dim)


@public(method=False, out=False)
def adaptive_max_pool1d(input: Any, output_size: Any) -> Any:
    """The largest element of each of `output_size` windows, and its position."""
    return _largest_of_line(input, output_size)


def _adaptive_max(rank: int, input: Any, output_size: Any, return_indices: bool) -> Any:
    if rank > 1:
        return _largest(rank, input, output_size, return_indices)
    found = _largest_of_line(input, output_size)
    return found if return_indices else found[0]


def _with_indices(rank: int, input: Any, output_size: Any, _: bool) -> Any:
    return _adaptive_max(rank, input, output_size, True)


for _rank in (1, 2, 3):
    _name = f"adaptive_max_pool{_rank}d"
    for _line, _pool, _doc in (
        (_name, _adaptive_max, "The largest element of as many windows as asked for."),
        (
            f"{_name}_with_indices",
            _with_indices,
            f"`{_name}` and the flat position of every maximum.",
        ),
    ):
        NN_FUNCTIONAL[_line] = autocasting(
            declared(
                f"{_line}(Tensor input, int?[{_rank}] output_size, bool return_indices=False) -> Any",
                _pool,
                _rank,
                doc=_doc,
            )
        )
NN_FUNCTIONAL["adaptive_avg_pool1d"] = FUNCTIONS["adaptive_avg_pool1d"]
