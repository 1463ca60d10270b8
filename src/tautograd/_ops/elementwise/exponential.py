"""Exponentials, logarithms, roots and reciprocals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._autograd.lifted import COUNTERPARTS
from ..declare.elementwise_calls import binary, conj, unary
from ..declare.public import FUNCTIONS, SPECIAL
from ..declare.samples import over, pairs
from ..declare.undefined_dtypes import no_kernel
from .complex import join

LN2, LN10 = math.log(2), math.log(10)
_NOWHERE = np.complex64(complex(math.nan, math.nan))


def _exp2(x: Any) -> Any:
    if x.dtype.kind != "c":
        return np.exp2(x)
    return np.exp(join(np.real(x) * LN2, np.imag(x) * LN2))  # infinity times (LN2 + 0i) has a NaN


def _log1p(x: Any) -> Any:
    if x.dtype.kind != "c":
        return np.log1p(x)
    a, b = np.real(x), np.imag(x)
    # |1 + z|² = 1 + a(2 + a) + b², of which only what exceeds 1 counts where z is small.
    excess = a * (2 + a) + b * b
    near = np.where(excess == 0, a, 0.5 * np.log1p(excess))
    size = np.where(np.hypot(a, b) < 0.5, near, np.log(np.hypot(a + 1, b)))
    return np.where(np.isnan(x), _NOWHERE, join(size, np.arctan2(b, a + 1)))


exp_op = unary(
    "exp", np.exp, d=lambda out: out, doc="e to the power of each element.", samples=over()
)
exp2_op = unary(
    "exp2", _exp2, d=lambda out: out * LN2, doc="2 to the power of each element.", samples=over()
)
expm1_op = unary(
    "expm1", np.expm1, d=lambda out: out + 1, doc="`exp(x) - 1`, exact near 0.", samples=over()
)
log_op = unary(
    "log",
    np.log,
    vjp=lambda g, x: g / conj(x),
    jvp=lambda t, x: t / x,
    doc="The natural logarithm.",
    samples=over(0.1, 3),
)
log2_op = unary(
    "log2",
    np.log2,
    vjp=lambda g, x: g / (conj(x) * LN2),
    jvp=lambda t, x: t / (x * LN2),
    doc="The logarithm to base 2.",
    samples=over(0.1, 3),
)
log10_op = unary(
    "log10",
    np.log10,
    vjp=lambda g, x: g / (conj(x) * LN10),
    jvp=lambda t, x: t / (x * LN10),
    doc="The logarithm to base 10.",
    samples=over(0.1, 3),
)
log1p_op = unary(
    "log1p",
    _log1p,
    node="Log1PBackward0",
    vjp=lambda g, x: g / (conj(x) + 1),
    jvp=lambda t, x: t / (x + 1),
    doc="`log(1 + x)`, exact near 0.",
    samples=over(-0.9, 2),
)
sqrt_op = unary(
    "sqrt",
    np.sqrt,
    vjp=lambda g, out: g / (2 * conj(out)),
    jvp=lambda t, out: t / (2 * out),
    doc="The square root.",
    samples=over(0.1, 3),
)
rsqrt_op = unary(
    "rsqrt",
    lambda x: 1 / np.sqrt(x),
    d=lambda out: -0.5 * out**3,
    doc="One over the square root.",
    samples=over(0.2, 3),
)
reciprocal_op = unary(
    "reciprocal",
    lambda x: 1 / x,
    vjp=lambda g, out: -g * conj(out * out),
    jvp=lambda t, out: -t * (out * out),
    doc="One over each element.",
    samples=over(0.3, 3),
)


def _logaddexp(x: Any, y: Any) -> Any:
    if x.dtype.kind != "c":
        return np.logaddexp(x, y)
    # log(e^x + e^y) = m + log(1 + e^(n - m)), m the one with the larger real part
    swap = np.real(x) < np.real(y)
    m, n = np.where(swap, y, x), np.where(swap, x, y)
    near = m + _log1p(np.exp(n - m))
    endless = np.isinf(np.real(m)) & (np.real(m) == np.real(n))
    far = np.where(np.real(m) < 0, n, np.log(np.exp(m) + np.exp(n)))
    found = np.where(endless, far, near)
    return np.where(np.isnan(x) | np.isnan(y), _NOWHERE, found)


def _logaddexp2(x: Any, y: Any) -> Any:
    """The larger + log2(1 + 2^-|x - y|), the product with 1/ln 2 fused as PyTorch's is."""
    m = np.maximum(x, y)
    difference = np.abs(x - y)
    part = np.log1p(np.exp2(-difference))
    return np.where(np.isinf(m) & (x == y), m, _fused(part, 1 / LN2, m))


def _fused(a: Any, b: float, c: Any) -> Any:
    """`a * b + c` with one rounding at the end (float32), or nearly so (float64)."""
    if c.dtype == np.float32:
        wide = np.astype(a, np.float64) * float(np.float32(b)) + c
        return np.astype(wide, np.float32)
    # Dekker: with both factors split in halves, the rounding error of the product is exact.
    a_high, b_high = (a * _SPLIT) - (a * _SPLIT - a), (b * _SPLIT) - (b * _SPLIT - b)
    a_low, b_low = a - a_high, b - b_high
    product = a * b
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return (product + c) + error


_SPLIT = 2.0**27 + 1


logaddexp_op = binary(
    "logaddexp",
    _logaddexp,
    vjp={
        "x": lambda g, x, y: g / conj(1 + np.exp(y - x)),
        "y": lambda g, x, y: g / conj(1 + np.exp(x - y)),
    },
    jvp={
        "x": lambda t, x, y: t / (1 + np.exp(y - x)),
        "y": lambda t, x, y: t / (1 + np.exp(x - y)),
    },
    inplace=False,
    refuses=no_kernel("logaddexp_cpu", "bi"),
    doc="`log(exp(x) + exp(y))` without overflow.",
    samples=pairs(),
)
logaddexp2_op = binary(
    "logaddexp2",
    _logaddexp2,
    vjp={
        "x": lambda g, x, y: g / (1 + exp2_op(y - x)),
        "y": lambda g, x, y: g / (1 + exp2_op(x - y)),
    },
    jvp={
        "x": lambda t, x, y: t / (1 + exp2_op(y - x)),
        "y": lambda t, x, y: t / (1 + exp2_op(x - y)),
    },
    inplace=False,
    refuses=no_kernel("logaddexp2_cpu", "bic"),
    doc="`log2(2**x + 2**y)` without overflow.",
    samples=pairs(),
)

COUNTERPARTS[np.log1p] = FUNCTIONS["log1p"]
COUNTERPARTS[np.exp2] = FUNCTIONS["exp2"]
COUNTERPARTS[np.logaddexp] = FUNCTIONS["logaddexp"]
COUNTERPARTS[np.logaddexp2] = FUNCTIONS["logaddexp2"]
for _name in ("exp2", "expm1", "log1p"):
    SPECIAL[_name] = FUNCTIONS[_name]
