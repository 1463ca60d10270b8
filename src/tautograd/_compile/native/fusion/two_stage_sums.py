"""Long sums taken in two stages: over blocks of rows first, then over the blocks.

A sum over the rows of a matrix reads a few rows side by side, from left to right, instead of going down
one column after the other; blocks can be shared out among threads; and the error of the sum is smaller.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

from ...dynamic.size import divides, example
from ...program.ir import Instruction, Reduce, View
from ..llvm.types import FLOAT32, is_half

LARGE = 1 << 14  # elements
_ROWS = range(8, 33)  # of a block, when results lie side by side
_BLOCKS = range(16, 129)  # when all is summed up


def in_two_stages(
    reduce: Reduce, temporary: Callable[[tuple[int, ...], Any], View]
) -> Iterator[Instruction] | None:
    """The two reductions; None where one is as good."""
    source, out = reduce.input, reduce.output
    if example(source.size) < LARGE:
        return None
    over = {a % source.ndim for a in reduce.axes}
    reduced = [a for a, n in enumerate(source.shape) if n != 1 and a in over]
    kept = [a for a, n in enumerate(source.shape) if n != 1 and a not in over]
    stride = _as_one(source, reduced)
    if stride is None:
        return _rows_first(reduce, reduced, temporary)
    rows = math.prod(source.shape[a] for a in reduced)
    if kept:
        size = source.dtype.itemsize
        beside = any(source.strides[a] == size for a in kept) and stride != size
        block = _divisor(rows, _ROWS) if beside and example(rows) >= 4 * _ROWS.stop else None
    else:
        blocks = _divisor(rows, _BLOCKS) if example(source.size) >= 8 * LARGE else None
        block = rows // blocks if blocks else None
    if block is None:
        return None
    shape = tuple(source.shape[a] for a in kept)
    strides = tuple(source.strides[a] for a in kept)
    count = rows // block
    cut = View(
        source.buffer,
        source.offset,
        (count, block, *shape),
        (stride * block, stride, *strides),
        source.dtype,
    )
    dtype = FLOAT32 if is_half(reduce.dtype) else reduce.dtype
    parts = temporary((count, 1, *shape), dtype)
    whole = View(
        out.buffer, out.offset, (1, 1, *shape), (0, 0, *(out.strides[a] for a in kept)), out.dtype
    )
    return iter(
        (
            Reduce(reduce.function, cut, (1,), parts, dtype),
            Reduce(reduce.function, parts, (0,), whole, dtype),
        )
    )


def _rows_first(
    reduce: Reduce, reduced: list[int], temporary: Callable[[tuple[int, ...], Any], View]
) -> Iterator[Instruction] | None:
    """A sum over images and positions, per channel: over positions first, which lie side by side."""
    source = reduce.input
    last = source.ndim - 1
    if len(reduced) < 2 or last not in reduced or source.strides[last] != source.dtype.itemsize:
        return None
    axes = [last]
    while axes[0] - 1 in reduced and _as_one(source, [axes[0] - 1, *axes]) is not None:
        axes.insert(0, axes[0] - 1)
    dtype = FLOAT32 if is_half(reduce.dtype) else reduce.dtype
    shape = tuple(1 if a in axes else n for a, n in enumerate(source.shape))
    parts = temporary(shape, dtype)
    others = tuple(a for a in reduced if a not in axes)
    return iter(
        (
            Reduce(reduce.function, source, tuple(axes), parts, dtype),
            Reduce(reduce.function, parts, others, reduce.output, dtype),
        )
    )


def _as_one(view: View, axes: list[int]) -> int | None:
    """The stride with which several dimensions are walked through as one, if they can be."""
    for a, b in itertools.pairwise(axes):
        if view.strides[a] != view.strides[b] * view.shape[b]:
            return None
    return view.strides[axes[-1]] if axes else None


def _divisor(n: int, wanted: range) -> int | None:
    """A divisor of n within a range, near its middle."""
    middle = math.sqrt(wanted.start * wanted.stop)
    found = [d for d in wanted if divides(n, d)]
    return min(found, key=lambda d: abs(math.log(d / middle)), default=None)
