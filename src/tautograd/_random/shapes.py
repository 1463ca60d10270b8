"""Sizes and memory order: what surrounds a flat run of samples.

A sampler draws a flat run of numbers; PyTorch lays the run into a tensor in the order of the
tensor's memory, not of its indices. For a contiguous tensor the two agree. For another layout,
`lay_out` gives the array, in index order, that the run becomes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

Shape = int | Sequence[int]


def as_shape(shape: Shape) -> tuple[int, ...]:
    """`shape` as a tuple; an integer means one dimension."""
    sizes = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(map(int, shape))
    if any(size < 0 for size in sizes):
        raise RuntimeError(f"shape: sizes must not be negative, got shape={list(sizes)}")
    return sizes


def count(shape: Shape) -> int:
    """The number of elements of `shape`."""
    return math.prod(as_shape(shape))


def memory_order(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """The dimensions from the fastest-moving to the slowest, as PyTorch's iteration sorts them.

    An insertion sort from the last dimension on, because the order is not total: a zero stride
    compares with nothing, and equal strides are told apart by size.
    """

    def moves_faster(first: int, second: int) -> int:
        if strides[first] == 0 or strides[second] == 0:
            return 0
        if strides[first] != strides[second]:
            return 1 if strides[first] < strides[second] else -1
        return -1 if shape[first] > shape[second] else 0

    order = list(range(len(shape) - 1, -1, -1))
    for start in range(1, len(order)):
        place = start
        for other in range(start - 1, -1, -1):
            comparison = moves_faster(order[other], order[place])
            if comparison < 0:
                order[other], order[place] = order[place], order[other]
                place = other
            elif comparison > 0:
                break
    return tuple(order)


def lay_out(
    run: npt.NDArray[Any], shape: Sequence[int], strides: Sequence[int]
) -> npt.NDArray[Any]:
    """The array of `shape` that `run` becomes when it fills a tensor with these `strides`."""
    slowest_first = memory_order(shape, strides)[::-1]
    filled = run.reshape([shape[dim] for dim in slowest_first])
    return filled.transpose(np.argsort(slowest_first)) if len(shape) > 1 else filled
