"""Accurate sums: NumPy adds pairwise along one axis only, so other long axes are folded."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .dtypes import HALF_CODES

# The number of terms from which a sum over rows is folded, and into how many parts at a time.
_FOLD_FROM = 128
_PARTS = 16
add_up: Any = np.add.reduce
_ndarray = np.ndarray
_FLOAT32 = np.dtype(np.float32)


def contiguous(x: Any) -> Any:
    """The same values in row-major order: NumPy's reductions keep the order of their input."""
    if type(x) is not _ndarray or x.flags.c_contiguous:
        return x
    return np.copy(x, order="C")


def exact_sum(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The sum, folded first where NumPy would add row after row and let rounding errors grow with n.

    NumPy adds pairwise only along the axis that is innermost in memory, and in half precision without
    the extra bits that a long sum needs: 1,000 ones are 256 in bfloat16.
    """
    if type(x) is _ndarray:
        if x.dtype is _FLOAT32 and x.size < _FOLD_FROM:
            return contiguous(add_up(x, dim, dtype, None, keepdim))
    elif hasattr(type(x), "raw"):  # on a GPU
        return x.sum(dim, dtype, None, keepdim)
    half = x.dtype if dtype is None and is_narrow(x) else None
    if half is not None:
        x = np.astype(x, np.float32)
    if type(x) is _ndarray and x.ndim > 1 and x.size >= _FOLD_FROM and x.dtype.kind in "fc":
        if dim is not None:
            x = _folded(x, dim)
        elif not (x.flags.c_contiguous or x.flags.f_contiguous):  # else it is one contiguous run
            x = _folded(x, tuple(range(x.ndim)))
    total = contiguous(add_up(x, axis=dim, keepdims=keepdim, dtype=dtype))
    if half is None:
        return total
    return np.astype(np.asarray(total) if isinstance(total, np.generic) else total, half)


def is_narrow(x: Any) -> bool:
    """Whether an array's sums need a wider dtype: half precision, except on a GPU, which handles that itself."""
    return x.dtype.char in HALF_CODES and not hasattr(type(x), "raw")


def add_at(out: Any, places: Any, values: Any) -> None:
    """`np.add.at` for a flat array, in float32 for half precision."""
    if not is_narrow(out):
        np.add.at(out, places, values)
        return
    wide = np.astype(out, np.float32)
    np.add.at(wide, places, np.astype(values, np.float32))
    out[...] = np.astype(wide, out.dtype)


def _folded(x: Any, dims: tuple[int, ...]) -> Any:
    """The same sums over fewer terms: long axes, except the innermost, are cut into parts that are added.

    The parts of an axis are added as whole arrays, so this is no slower than the plain sum.
    """
    shape = x.shape
    for axis in dims:
        n = shape[axis]
        if n < _FOLD_FROM or _is_innermost(x, axis):
            continue
        along: tuple[slice, ...] = (slice(None),) * axis
        while n >= _FOLD_FROM:
            rows = n // _PARTS
            whole = rows * _PARTS
            parts = (*x.shape[:axis], _PARTS, rows, *x.shape[axis + 1 :])
            total = np.add.reduce(np.reshape(x[(*along, slice(0, whole))], parts), axis=axis)
            if whole < n:
                rest = np.add.reduce(x[(*along, slice(whole, n))], axis=axis, keepdims=True)
                total[(*along, slice(0, 1))] += rest
            x, n = total, rows
    return x


def _is_innermost(x: Any, axis: int) -> bool:
    step = abs(x.strides[axis])
    return all(abs(s) >= step for s, n in zip(x.strides, x.shape, strict=True) if n > 1)


@lru_cache(maxsize=1024)  # the same shapes recur at every step
def broadcast_axes(have: tuple[int, ...], want: tuple[int, ...]) -> tuple[int, ...] | None:
    """The dimensions of `have` that broadcasting `want` to it added or stretched; None if it cannot."""
    extra = len(have) - len(want)
    if extra < 0:
        return None
    axes = list(range(extra))
    for i, n in enumerate(want, extra):
        if have[i] != n:
            if n != 1:
                return None
            axes.append(i)
    return tuple(axes)


_PIECE = 8192  # how many products BLAS adds sequentially at most


def row_dot(x: Any, y: Any) -> Any:
    """Σ x y along the last dimension; long rows in pieces, so that rounding errors do not grow with them."""
    width = x.shape[-1]
    if width <= 2 * _PIECE or type(x) is not np.ndarray or type(y) is not np.ndarray:
        return np.vecdot(x, y)
    whole = width - width % _PIECE
    pieces = (np.reshape(v[..., :whole], (*v.shape[:-1], -1, _PIECE)) for v in (x, y))
    found = np.add.reduce(np.vecdot(*pieces), axis=-1)
    return found + np.vecdot(x[..., whole:], y[..., whole:]) if whole < width else found
