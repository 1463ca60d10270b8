"""`np.where` for plain arrays, by bit masks: no branch per element, so any mask costs the same.

NumPy's own `where` branches on each element, which is forty times slower on random masks. Other array
types, broadcasting and mixed dtypes go to `np.where`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_ndarray = np.ndarray
# Dtype code -> the integer of the same width.
_INTEGERS: dict[str, Any] = {
    "f": np.dtype(np.int32), "d": np.dtype(np.int64), "i": np.dtype(np.int32),
    "l": np.dtype(np.int64), "e": np.dtype(np.int16), "h": np.dtype(np.int16),
}  # fmt: skip
_FEW = 1024  # below this NumPy's own way is faster
_BLOCK = 1 << 15  # elements per block of bit masks, which stays in the cache
_BOOL = np.dtype(np.bool_)
_INT8 = np.dtype(np.int8)


def _bits(keep: Any, values: Any) -> Any:
    """All bits set where `keep` holds, in integers as wide as the values; None: not worth it."""
    if type(keep) is not _ndarray or type(values) is not _ndarray or keep.size < _FEW:
        return None
    integer = _INTEGERS.get(values.dtype.char)
    if integer is None or keep.dtype is not _BOOL or keep.shape != values.shape:
        return None
    return -keep.view(_INT8).astype(integer)


def masked(values: Any, keep: Any) -> Any:
    """The values where `keep` holds, and 0 elsewhere (even in place of NaN)."""
    bits = _bits(keep, values)
    if bits is None:
        return np.where(keep, values, 0)
    bits &= values.view(bits.dtype)
    return bits.view(values.dtype)


def blend(keep: Any, first: Any, second: Any) -> Any:
    """The first where `keep` holds, the second elsewhere."""
    if type(second) is not _ndarray or getattr(first, "dtype", None) is not second.dtype:
        return np.where(keep, first, second)
    bits = _bits(keep, first) if first.shape == second.shape else None
    if bits is None:
        return np.where(keep, first, second)
    other = second.view(bits.dtype)
    bits &= first.view(bits.dtype) ^ other
    bits ^= other
    return bits.view(first.dtype)


def filled(values: Any, mask: Any, value: Any) -> Any:
    """A copy of the values with one value where the mask holds, in their dtype; all three are broadcast."""
    integer = _INTEGERS.get(values.dtype.char) if type(values) is _ndarray else None
    if integer is None or type(mask) is not _ndarray or mask.dtype is not _BOOL or np.ndim(value):
        return _of_dtype(np.where(mask, _of_dtype(value, values.dtype), values), values.dtype)
    shape = np.broadcast_shapes(values.shape, mask.shape)
    if math.prod(shape) < _FEW:
        return np.where(mask, _of_dtype(value, values.dtype), values)
    out = np.empty(shape, values.dtype)
    np.copyto(out, values)
    flat = out.reshape(-1).view(integer)
    chosen = np.ascontiguousarray(np.broadcast_to(mask, shape)).reshape(-1).view(_INT8)
    other = np.asarray(value, values.dtype).view(integer)
    for start in range(0, flat.size, _BLOCK):
        here = flat[start : start + _BLOCK]
        bits = -chosen[start : start + _BLOCK].astype(integer)
        bits &= here ^ other
        here ^= bits
    return out


def _of_dtype(x: Any, dtype: Any) -> Any:
    return np.astype(x, dtype) if hasattr(x, "dtype") and x.dtype != dtype else x
