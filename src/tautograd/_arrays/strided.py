"""An array's memory layout: strides in elements, storage, and arrays over the same memory.

NumPy's own `as_strided` builds a chain of helper objects; `strided` makes the array directly over
the owner of the memory. This concerns only NumPy's own arrays: every other array type is handled through
NumPy's functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_FARTHEST = 2**63 - 1


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides in elements of a dense array in C order; an empty extent counts as one."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def strides_of(array: Any) -> tuple[int, ...]:
    """Strides in elements, as users see them."""
    if 0 in array.shape and not any(array.strides):
        return contiguous_strides(array.shape)
    size = array.dtype.itemsize
    return tuple([stride // size for stride in array.strides])


def spelled_out(array: Any) -> Any:
    """An empty array, with the strides that NumPy did not give it."""
    if type(array) is not np.ndarray or array.size or any(array.strides) or not array.ndim:
        return array
    size = array.dtype.itemsize
    strides = tuple([stride * size for stride in contiguous_strides(array.shape)])
    return np.ndarray(array.shape, array.dtype, np.empty(size, np.uint8), 0, strides)


def with_strides_of(out: Any, model: Any) -> Any:
    """A fresh array with its model's strides, if they differ only in dimensions of size one."""
    if type(out) is not np.ndarray:
        if hasattr(out, "seen_through"):
            return out.seen_through(lambda array: with_strides_of(array, model))
        if not has_memory(out):
            return out
    size, have = model.dtype.itemsize, out.dtype.itemsize
    strides = tuple([stride // size * have for stride in model.strides])
    if strides == out.strides or not out.size:
        return out
    for extent, a, b in zip(out.shape, out.strides, strides, strict=True):
        if extent != 1 and a != b:
            return out
    return strided(out, out.shape, strides)


def copied_with_strides(array: Any) -> Any:
    """A copy in its own memory with the array's strides, gaps included."""
    if type(array) is not np.ndarray or array.flags.c_contiguous or not array.size:
        return np.copy(array, order="C")
    if min(array.strides) < 0:  # a flipped gradient; no tensor has negative strides
        return np.copy(array, order="C")
    steps = zip(array.shape, array.strides, strict=True)
    span = array.dtype.itemsize + sum([(extent - 1) * stride for extent, stride in steps])
    room = np.zeros(span, np.uint8)
    out = np.ndarray(array.shape, array.dtype, room, 0, array.strides)
    np.copyto(out, array)
    return out


def with_steps_of(data: Any, model: Any) -> Any:
    """The same elements in their own memory, spaced as the model's are."""
    plain = type(data) is type(model) is np.ndarray
    if not plain or data.strides == model.strides or not data.size:
        return data
    out = copied_with_strides(model)
    np.copyto(out, data)
    return out


def has_memory(array: Any) -> bool:
    """Whether an array is memory that views share, and not a batch or a recording of one."""
    return type(array) is np.ndarray or hasattr(array, "strided")


def is_distributed(array: Any) -> bool:
    """Whether each of several processes holds a part of an array; its functions give all of them the same elements."""
    return getattr(array, "is_distributed_array", False)


def storage_of(array: Any) -> Any:
    """The array that owns the memory that an array views."""
    if type(array) is not np.ndarray and hasattr(array, "storage"):
        return array.storage()
    owner = array
    while True:
        base = getattr(owner, "base", None)
        if base is None or not hasattr(base, "base"):
            return owner
        if isinstance(base, np.ndarray) or isinstance(base.base, np.ndarray):
            owner = base if isinstance(base, np.ndarray) else base.base
        else:
            return owner


def address(array: Any) -> int:
    if type(array) is not np.ndarray and hasattr(array, "address"):
        return array.address  # type: ignore[no-any-return]
    found: int = array.__array_interface__["data"][0]
    return found


def storage_offset_of(array: Any) -> int:
    """The offset of an array from the start of its storage, in elements."""
    owner = storage_of(array)
    if owner is array:
        return 0
    return (address(array) - address(owner)) // array.dtype.itemsize  # type: ignore[no-any-return]


def strided(array: Any, shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> Any:
    """An array over the same memory, `offset` and `strides` in bytes from where `array` begins."""
    if type(array) is not np.ndarray and hasattr(array, "strided"):
        return array.strided(shape, strides, offset)
    if hasattr(array, "seen_through"):  # an array being recorded
        return array.seen_through(lambda x: strided(x, shape, strides, offset))
    owner = storage_of(array)
    flags = owner.flags
    if flags.c_contiguous or flags.f_contiguous:
        if owner is not array:
            offset += address(array) - address(owner)
        try:
            return np.ndarray(
                shape, array.dtype, owner if flags.c_contiguous else owner.T, offset, strides
            )
        except (ValueError, OverflowError):
            if 0 not in shape or any(step // array.dtype.itemsize > _FARTHEST for step in strides):
                raise
            # No elements: any memory will do, and the largest strides that can be represented are far enough.
            room = np.empty(array.dtype.itemsize, np.uint8)
            farthest = _FARTHEST // array.dtype.itemsize * array.dtype.itemsize
            strides = [max(-farthest, min(step, farthest)) for step in strides]
            return np.ndarray(shape, array.dtype, room, 0, strides)
    dtype = array.dtype
    if (
        dtype.isbuiltin == 2
    ):  # NumPy does not know its name in the interface that `as_strided` goes by
        array = array.view(f"u{dtype.itemsize}")
    if offset:
        array = np.lib.stride_tricks.as_strided(array, (2,), (offset,))[1:]
    found = np.lib.stride_tricks.as_strided(array, tuple(shape), tuple(strides))
    return found if found.dtype is dtype else found.view(dtype)


def view_strides(
    shape: Sequence[int], strides: Sequence[int], wanted: Sequence[int]
) -> tuple[int, ...] | None:
    """Strides that view memory in another shape, or None if only a copy can.

    Dimensions that follow each other without a gap form a run; a new dimension must lie inside one.
    """
    if 0 in shape:
        return contiguous_strides(wanted)
    if not shape:
        return (1,) * len(wanted)
    found = [0] * len(wanted)
    at = len(wanted) - 1
    run, taken = 1, 1  # elements in the current run, and those that new dimensions have used up
    base = strides[-1]
    for dim in range(len(shape) - 1, -1, -1):
        run *= shape[dim]
        if dim == 0 or (shape[dim - 1] != 1 and strides[dim - 1] != run * base):
            while at >= 0 and (taken < run or wanted[at] == 1):
                found[at] = taken * base
                taken *= wanted[at]
                at -= 1
            if taken != run:
                return None
            if dim:
                base, run, taken = strides[dim - 1], 1, 1
    return tuple(found) if at < 0 else None


def lies_in(array: Any, order: Sequence[int]) -> bool:
    """Whether an array is dense with its dimensions in this order, slowest first."""
    step = array.dtype.itemsize
    for dim in reversed(order):
        if array.shape[dim] != 1:
            if array.strides[dim] != step and array.size:
                return False
            step *= array.shape[dim]
    return True


def is_dense(array: Any) -> bool:
    """Whether an array fills its memory without gaps or overlaps, its dimensions in any order."""
    if type(array) is not np.ndarray or array.flags.forc:
        return True
    step = array.dtype.itemsize
    for stride, extent in sorted(zip(array.strides, array.shape, strict=True)):
        if extent != 1:
            if stride != step:
                return not array.size
            step *= extent
    return True


def prefers(array: Any, order: Sequence[int]) -> bool:
    """Whether an array's strides ascend in this order, dense or not, and in no other."""
    if not array.strides[order[-1]]:
        return False
    least = 0
    for dim in reversed(order):
        if not array.shape[dim] or array.strides[dim] < least:
            return False
        # Channels of size one do not distinguish the formats.
        if dim == order[0] and least == array.strides[order[-1]]:
            return False
        least = array.strides[dim] * max(array.shape[dim], 1)
    return True
