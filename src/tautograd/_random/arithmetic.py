"""Arithmetic that NumPy does not offer but whose last bit decides equality with PyTorch.

Two things. Fused multiply-add: PyTorch's kernels are compiled for processors with FMA, so `a*b + c`
is rounded once; NumPy rounds twice. And the C library's elementary functions: NumPy replaces some
of them by vector versions that differ in the last bit, while `math` calls the C library itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]

bfloat16 = np.dtype(ml_dtypes.bfloat16)
_SPLITTER = 2.0**27 + 1.0


def _two_sum(a: Doubles, b: Doubles) -> tuple[Doubles, Doubles]:
    """The rounded sum and what the rounding lost, exactly."""
    total = a + b
    b_part = total - a
    return total, (a - (total - b_part)) + (b - b_part)


def _two_product(a: Doubles, b: Doubles) -> tuple[Doubles, Doubles]:
    """The rounded product and what the rounding lost, exactly (Dekker's splitting)."""
    product = a * b
    scaled_a, scaled_b = _SPLITTER * a, _SPLITTER * b
    a_high, b_high = scaled_a - (scaled_a - a), scaled_b - (scaled_b - b)
    a_low, b_low = a - a_high, b - b_high
    lost = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, lost


def _sum_to_odd(a: Doubles, b: Doubles) -> Doubles:
    """a + b, where an inexact sum takes the neighbour whose last bit is one.

    A value rounded to odd may be rounded again to nearest in fewer bits without the error of
    double rounding, because an odd last bit can never sit on a tie.
    """
    total, lost = _two_sum(a, b)
    fix = (lost != 0) & (total.view(np.int64) & 1 == 0)
    if not fix.any():
        return total
    towards = np.where(lost > 0, np.inf, -np.inf)
    return np.where(fix, np.nextafter(total, towards), total)


def fma64(a: Doubles, b: float, c: float) -> Doubles:
    """a*b + c in double precision with one rounding."""
    if b == 1.0 or c == 0.0:
        return a * b + c  # one of the two roundings is exact
    factor, addend = np.full_like(a, b), np.full_like(a, c)
    product, product_lost = _two_product(a, factor)
    if not np.isfinite(product).all() or not np.isfinite(product_lost).all():
        return a * b + c
    total, total_lost = _two_sum(product, addend)
    return total + _sum_to_odd(total_lost, product_lost)


def fma32(a: npt.NDArray[np.float32], b: np.float32, c: np.float32) -> npt.NDArray[np.float32]:
    """a*b + c in single precision with one rounding: the product is exact in double."""
    product = a.astype(np.float64) * np.float64(b)
    return _sum_to_odd(product, np.full_like(product, c)).astype(np.float32)


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


def narrow(values: npt.NDArray[np.generic], dtype: np.dtype) -> npt.NDArray[np.generic]:
    """Cast samples to `dtype` as C++ does: to 16-bit floats by way of single precision."""
    if values.dtype == dtype:
        return values
    with np.errstate(over="ignore"):
        if dtype == np.float16 or dtype == bfloat16:
            return values.astype(np.float32).astype(dtype)
        return values.astype(dtype)
