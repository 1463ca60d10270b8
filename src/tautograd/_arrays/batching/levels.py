"""The batches of nested `vmap`s: adding, removing, finding and summing over them.

Batches are ordered, with the innermost (highest) level as the outermost wrapper. So a level that is closed already, in
a graph that runs backward inside newer levels, is added and found beneath those.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .batched import BatchedArray, materialize


def put_level(array: Any, axis: int, level: int) -> Any:
    """An array as one example of a batch along `axis` (not negative)."""
    if isinstance(array, BatchedArray) and array.level > level:
        return BatchedArray(put_level(array.data, axis + 1, level), array.level)
    return BatchedArray(np.moveaxis(array, axis, 0), level)


def take_level(array: Any, axis: int, level: int, size: int) -> Any:
    """All examples of an array, along `axis`, in their own memory."""
    if isinstance(array, BatchedArray) and array.level > level:
        return BatchedArray(take_level(array.data, axis + 1, level, size), array.level)
    return np.moveaxis(np.copy(materialize(array, level, size)), 0, axis)


def show_level(array: Any, axis: int, level: int) -> Any:
    """The examples of one of the array's levels, along `axis`, without a copy."""
    if array.level > level:
        return BatchedArray(show_level(array.data, axis + 1, level), array.level)
    return np.moveaxis(array.data, 0, axis)


def batched_like(array: Any, shape: Any) -> Any:
    """A copy of the array for each example of the batches that a shape hides."""
    levels = getattr(shape, "levels", ())
    if not levels:
        return array
    return with_levels(np.broadcast_to(array, (*shape.sizes[::-1], *array.shape)).copy(), levels)


def levels_of(array: Any) -> tuple[int, ...]:
    """The levels whose batches an array hides, innermost `vmap` first."""
    found = []
    while isinstance(array, BatchedArray):
        found.append(array.level)
        array = array.data
    return tuple(found)


def bottom(array: Any) -> Any:
    """The array underneath, with all its batches in front."""
    while isinstance(array, BatchedArray):
        array = array.data
    return array


def with_levels(array: Any, levels: tuple[int, ...]) -> Any:
    """The same batches relabelled with other levels: what one run computed, for another run's graph."""
    array = bottom(array)
    for level in reversed(levels):
        array = BatchedArray(array, level)
    return array


def sum_level(array: Any, level: int) -> Any:
    """Sum over the batch of one level, which may lie under others."""
    if array.level == level:
        return np.sum(array.data, axis=0)
    return BatchedArray(sum_level(array.data, level), array.level)
