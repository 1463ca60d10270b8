"""log and its kin as polynomials: x = 2^k·m with m near 1, and log m from f = m - 1."""

from __future__ import annotations

from typing import NamedTuple

from .algebra import Term, fma, polynomial, where
from .types import FLOAT64
from .vector_math_exp import exp

# (log(1 + f) - f + f²/2) / f³
_LOG32 = (0.33333310447825437, -0.24999986566498775, 0.2000222622314322, -0.16669252255639946, 0.1421866495455454, -0.12384327963683639, 0.11872916433723067, -0.11789906539687113, 0.0691560408349801)  # fmt: skip
# (2·atanh(s) - 2s) / s³ as a polynomial in s²
_LOG64 = (0.6666666666666666, 0.4000000000000625, 0.285714285690861, 0.22222222646770196, 0.18181775667347932, 0.15387090684811963, 0.13250119673700686, 0.1325131557537903)  # fmt: skip


class _Format(NamedTuple):
    bits: int  # of the fraction
    root_half: int  # √½ as bits
    one: int
    log2_high: float  # few bits, so that k times it is exact
    log2_low: float
    smallest: float  # of the ordinary numbers


_SINGLE = _Format(23, 0x3F3504F3, 0x3F800000, 0.693359375, -2.12194440054690583e-4, 2.0**-126)
_DOUBLE = _Format(52, 0x3FE6A09E667F3BCD, 0x3FF0000000000000, 0.69314718036912382, 1.90821492927058770e-10, 2.0**-1022)  # fmt: skip
_INVERSE_LOG2, _INVERSE_LOG10 = 1.4426950408889634, 0.4342944819032518
_LOG10_2_HIGH, _LOG10_2_LOW = (
    0.3010299950838089,
    5.801722962879576e-10,
)  # of log10(2), 29 bits first


def _format(x: Term) -> _Format:
    return _SINGLE if x.dtype.itemsize == 4 else _DOUBLE


def _split(x: Term) -> tuple[Term, Term]:
    """k as an integer and m, with x = 2^k·m and √½ ≤ m < √2."""
    form = _format(x)
    tiny = x.compare("lt", form.smallest)
    x = where(tiny, x * 2.0**form.bits, x)
    above = x.bits() - form.root_half
    k = above.integer("ashr", form.bits)
    m = ((above & ((1 << form.bits) - 1)) + form.root_half).as_float(x.dtype)
    return where(tiny, k - form.bits, k), m


def _correction(f: Term) -> Term:
    """log(1 + f) - f + f²/2."""
    if f.dtype.itemsize == 4:
        return f * f * f * polynomial(f, _LOG32)
    s = f / (2.0 + f)
    z = s * s
    return s * fma(z, polynomial(z, _LOG64), 0.5 * f * f)


def _log_of(k: Term, f: Term) -> Term:
    """k·log 2 + log(1 + f), the small parts first."""
    form = _format(f)
    rest = fma(k, form.log2_low, _correction(f))
    return k * form.log2_high + (f + (rest - 0.5 * f * f))


def _edges(x: Term, result: Term, zero: float = 0.0) -> Term:
    """The result where x is above what zero is to a logarithm; its limits elsewhere."""
    result = where(x.compare("lt", float("inf")), result, x)  # infinity and NaN as they are
    result = where(x.compare("eq", zero), result.like(float("-inf")), result)
    return where(x.compare("lt", zero), result.like(float("nan")), result)


def log(x: Term) -> Term:
    k, m = _split(x)
    return _edges(x, _log_of(k.to(x.dtype), m - 1.0))


def log1p(x: Term) -> Term:
    """log u with u = 1 + x rounded, and what rounding lost put back into the fraction."""
    form = _format(x)
    u = 1.0 + x
    k, m = _split(u)
    lost = where(x.compare("gt", 1.0), 1.0 - (u - x), x - (u - 1.0))
    scale = (form.one - k.integer("shl", form.bits)).as_float(x.dtype)  # 2^-k
    f = where(
        k.compare("eq", 0), x, (m - 1.0) + where(k.compare("lt", form.bits + 2), lost * scale, 0.0)
    )
    result = _log_of(k.to(x.dtype), f)
    result = where(x.abs().compare("lt", 2.0 ** -(form.bits + 2)), x, result)
    return _edges(x, result, -1.0)


def log2(x: Term) -> Term:
    k, m = _split(x)
    f = m - 1.0
    part = (f + (_correction(f) - 0.5 * f * f)) * _INVERSE_LOG2
    return _edges(x, k.to(x.dtype) + part)


def log10(x: Term) -> Term:
    if x.dtype != FLOAT64:
        return (log(x.to(FLOAT64)) * _INVERSE_LOG10).to(x.dtype)
    k, m = _split(x)
    f, k = m - 1.0, k.to(x.dtype)
    part = (f + (_correction(f) - 0.5 * f * f)) * _INVERSE_LOG10
    return _edges(x, k * _LOG10_2_HIGH + fma(k, _LOG10_2_LOW, part))


def logaddexp(x: Term, y: Term) -> Term:
    larger = where(x.compare("gt", y), x, y)
    difference = -(x - y).abs()
    sum_ = larger + log1p(exp(difference))
    equal = x.compare("eq", y)  # also two infinities, whose difference is no number
    return where(equal, x + 0.6931471805599453, where(difference.is_nan(), difference, sum_))
