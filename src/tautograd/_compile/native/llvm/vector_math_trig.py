"""sin, cos and tan: x = n·π/2 + r with |r| ≤ π/4, then polynomials of r.

π/2 is taken in three parts of 33 bits, so that n times a part is exact; float32 is reduced in float64. Angles so
large that n has more than 20 bits go to the C library.
"""

from __future__ import annotations

from .algebra import Term, fma, if_any, polynomial, where
from .types import FLOAT32, FLOAT64, INT32
from .vector_math_exp import nearest_whole

_SIN32 = (-0.16666666639560868, 0.008333329144218922, -0.00019839256723586012, 2.717565225857831e-06)  # fmt: skip
_COS32 = (0.04166664565086726, -0.001388730593462825, 2.4431192443758493e-05)
_SIN64 = (-0.16666666666666666, 0.008333333333333321, -0.000198412698412536, 2.7557319213420033e-06, -2.5052104708716916e-08, 1.6058340530339498e-10, -7.577392982773031e-13)  # fmt: skip
_COS64 = (0.04166666666666659, -0.0013888888888872598, 2.480158728849148e-05, -2.75573140563933e-07, 2.0875681854249443e-09, -1.135744734728747e-11)  # fmt: skip

_LARGE = 1.0e6
_TWO_OVER_PI = 0.6366197723675814
_PARTS = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)  # of π/2


def _reduced(x: Term) -> tuple[Term, Term, Term]:
    """The quadrant, r, and what rounding r lost."""
    wide = x.to(FLOAT64)
    whole, n = nearest_whole(wide, _TWO_OVER_PI)
    high = fma(whole, -_PARTS[0], wide)
    low = whole * _PARTS[1]
    r = high - low
    lost = (high - r) - low
    lost = fma(whole, -_PARTS[2], lost)
    exact = r + lost
    if x.dtype == FLOAT64:
        return n, exact, (r - exact) + lost
    short = exact.to(FLOAT32)
    return n.to(INT32), short, short.like(0.0)


def _sine(r: Term, lost: Term) -> Term:
    z = r * r
    y = fma(r * z, polynomial(z, _SIN32 if r.dtype == FLOAT32 else _SIN64), lost)
    return r + y


def _cosine(r: Term, lost: Term) -> Term:
    """1 - z/2 + …, with the rounding error of 1 - z/2 put back."""
    z = r * r
    half = 0.5 * z
    near = 1.0 - half
    rest = fma(z * z, polynomial(z, _COS32 if r.dtype == FLOAT32 else _COS64), -(r * lost))
    return near + (((1.0 - near) - half) + rest)


def _turned(x: Term, quarter: int) -> Term:
    n, r, lost = _reduced(x)
    n = n + quarter
    odd = (n & 1).compare("ne", 0)
    y = where(odd, _cosine(r, lost), _sine(r, lost))
    return where((n & 2).compare("ne", 0), -y, y)


def sin(x: Term) -> Term:
    y = where(x.compare("eq", 0.0), x, _turned(x, 0))
    large = ~x.abs().compare("lt", _LARGE)
    return if_any(large, y, lambda: x.library("sin"))


def cos(x: Term) -> Term:
    large = ~x.abs().compare("lt", _LARGE)
    return if_any(large, _turned(x, 1), lambda: x.library("cos"))


def tan(x: Term) -> Term:
    """In float32 by way of float64; in float64 the C library's."""
    if x.dtype == FLOAT64:
        return x.library("tan")
    wide = x.to(FLOAT64)
    y = where(x.compare("eq", 0.0), x, (_turned(wide, 0) / _turned(wide, 1)).to(FLOAT32))
    large = ~x.abs().compare("lt", _LARGE)
    return if_any(large, y, lambda: x.library("tan"))
