"""Arithmetic that NumPy does not offer but whose last bit decides equality with PyTorch.

Two things. Fused multiply-add: PyTorch's kernels are compiled for processors with FMA, so `a*b + c`
is rounded once; NumPy rounds twice. And the C library's elementary functions: NumPy replaces some
of them by vector versions that differ in the last bit, while `math` calls the C library itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

Doubles: TypeAlias = "npt.NDArray[np.float64]"

bfloat16 = np.dtype(ml_dtypes.bfloat16)
_SPLITTER = 2.0**27 + 1.0
# Elements treated at a time: the intermediate arrays stay in the processor's cache.
_CHUNK = 1 << 13


def _two_sum(a: Doubles, b: Doubles | float) -> tuple[Doubles, Doubles]:
    """The rounded sum and what the rounding lost, exactly."""
    total = a + b
    b_part = total - a
    lost = total - b_part
    np.subtract(a, lost, out=lost)
    np.subtract(b, b_part, out=b_part)
    lost += b_part
    return total, lost


def _two_product(a: Doubles, b: float) -> tuple[Doubles, Doubles]:
    """The rounded product and what the rounding lost, exactly (Dekker's splitting)."""
    product = a * b
    scaled = _SPLITTER * a
    a_high = scaled - (scaled - a)
    a_low = a - a_high
    b_high = _SPLITTER * b - (_SPLITTER * b - b)
    b_low = b - b_high
    lost = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, lost


def _sum_to_odd(a: Doubles, b: Doubles | float) -> Doubles:
    """a + b, where an inexact sum takes the neighbour whose last bit is one.

    A value rounded to odd may be rounded again to nearest in fewer bits without the error of
    double rounding, because an odd last bit can never sit on a tie.
    """
    total, lost = _two_sum(a, b)
    fix = np.flatnonzero((lost != 0) & (total.view(np.int64) & 1 == 0))
    if fix.size:
        total[fix] = np.nextafter(total[fix], np.copysign(np.inf, lost[fix]))
    return total


def _fma64(a: Doubles, b: float, c: float) -> Doubles:
    product, product_lost = _two_product(a, b)
    total, total_lost = _two_sum(product, c)
    result = total + _sum_to_odd(total_lost, product_lost)
    if not np.isfinite(result).all():
        return a * b + c  # the splitting overflowed; the plain formula knows infinities
    return result


def _fma32(a: npt.NDArray[np.float32], b: float, c: float) -> npt.NDArray[np.float32]:
    # The product of two singles is exact in double.
    return _sum_to_odd(a.astype(np.float64) * b, c).astype(np.float32)


def fma64(a: Doubles, b: float, c: float) -> Doubles:
    """a*b + c in double precision with one rounding; `a` is one-dimensional."""
    if b == 1.0 or c == 0.0:
        return a * b + c  # one of the two roundings is exact
    result = np.empty_like(a)
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, a.size, _CHUNK):
            result[start : start + _CHUNK] = _fma64(a[start : start + _CHUNK], b, c)
    return result


def fma32(a: npt.NDArray[np.float32], b: np.float32, c: np.float32) -> npt.NDArray[np.float32]:
    """a*b + c in single precision with one rounding; `a` is one-dimensional."""
    result = np.empty_like(a)
    for start in range(0, a.size, _CHUNK):
        result[start : start + _CHUNK] = _fma32(a[start : start + _CHUNK], float(b), float(c))
    return result


def c_library(function: Callable[[float], float], values: Doubles) -> Doubles:
    """`function` of the `math` module on each value."""
    return np.fromiter(map(function, values.ravel().tolist()), np.float64, values.size)


def log(values: Doubles) -> Doubles:
    """The C library's log; `math.log` refuses zero, whose logarithm is minus infinity here."""
    positive = values > 0
    if positive.all():
        return c_library(math.log, values)
    return np.where(positive, c_library(math.log, np.where(positive, values, 1.0)), -np.inf)


def sin_cos(angles: Doubles) -> tuple[Doubles, Doubles]:
    """The C library's sine and cosine; the complex exponential computes both in one C loop."""
    turned = np.exp(1j * angles)
    return turned.imag, turned.real


def exp(values: Doubles) -> Doubles:
    """The C library's exp; the complex exponential of a real number calls it in a C loop."""
    with np.errstate(over="ignore"):
        return np.exp(values.astype(np.complex128)).real


def narrow(values: npt.NDArray[Any], dtype: np.dtype) -> npt.NDArray[Any]:
    """Cast samples to `dtype` as C++ does: to 16-bit floats by way of single precision."""
    if values.dtype == dtype:
        return values
    with np.errstate(over="ignore"):
        if dtype == np.float16 or dtype == bfloat16:
            return values.astype(np.float32).astype(dtype)
        return values.astype(dtype)
