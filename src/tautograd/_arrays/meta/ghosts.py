"""Memory that is never touched: address space without pages, so that a shape of any size costs nothing.

A ghost is an array of NumPy's over such memory. Views of it are NumPy's own, with NumPy's strides; nobody
writes into it, and what reads it all the same sees zeros.
"""

from __future__ import annotations

import mmap
from math import prod
from typing import Any

import numpy as np

_SMALL = 1 << 16  # bytes below which a mapping of its own costs more than it saves
_NORESERVE = 0x4000  # Linux: let nobody set memory aside for it


def ghost(shape: Any, dtype: Any) -> Any:
    """An array of this shape in rows."""
    shape = tuple(int(n) for n in (shape if isinstance(shape, (tuple, list)) else (shape,)))
    kind = np.dtype(dtype)
    size = prod(shape) * kind.itemsize
    if size < _SMALL:
        return np.zeros(shape, kind)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
    try:
        room = mmap.mmap(-1, size, flags=flags)
    except (OSError, OverflowError, ValueError):
        raise RuntimeError(
            f"a tensor on the device meta of {size} bytes is larger than the address space"
        ) from None
    return np.frombuffer(room, kind).reshape(shape)


def ghost_like(array: Any) -> Any:
    """A ghost that steps through memory as an array does."""
    if array.flags.c_contiguous or not array.size or min(array.strides, default=0) < 0:
        return ghost(array.shape, array.dtype)
    reach = sum((n - 1) * step for n, step in zip(array.shape, array.strides, strict=True))
    flat = ghost((reach // array.itemsize + 1,), array.dtype)
    return np.ndarray(array.shape, array.dtype, flat, 0, array.strides)
