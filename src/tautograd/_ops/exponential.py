"""Exponentials, logarithms, roots and reciprocals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .elementwise import binary, conj, unary
from .refusals import no_kernel
from .samples import over, pairs

LN2, LN10 = math.log(2), math.log(10)


def _exp2(x: Any) -> Any:
    return np.exp(x * LN2) if x.dtype.kind == "c" else np.exp2(x)


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
    np.log1p,
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
    return m + np.log1p(np.exp(n - m))


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
    np.logaddexp2,
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
