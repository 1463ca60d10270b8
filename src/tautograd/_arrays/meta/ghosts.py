"""Memory that is never touched: address space without pages, so that any shape costs nothing.

A ghost is a NumPy array over such memory. Views of it are NumPy's own, with NumPy's strides; nothing
writes to it, and anything that reads it sees zeros.
"""

from __future__ import annotations

import mmap
from math import prod
from typing import Any

import numpy as np

_SMALL = 1 << 16  # bytes below which a separate mapping costs more than it saves
_NORESERVE = 0x4000  # Linux: reserve no swap for it


def ghost(shape: Any, dtype: Any) -> Any:
    """A row-major ghost of this shape."""
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
    """A ghost with an array's strides."""
    if array.flags.c_contiguous or not array.size or min(array.strides, default=0) < 0:
        return ghost(array.shape, array.dtype)
    reach = sum((n - 1) * step for n, step in zip(array.shape, array.strides, strict=True))
    flat = ghost((reach // array.itemsize + 1,), array.dtype)
    return np.ndarray(array.shape, array.dtype, flat, 0, array.strides)
