"""exp, expm1, exp2, tanh and the logistic function as polynomials, in float32 and float64.

The exponent is split as x = n·ln 2 + r with |r| ≤ ln 2 / 2, and e^r is a polynomial fitted for the smallest
relative error. ln 2 is taken in two parts, of which the first has few bits, so that n times it is exact.
"""

from __future__ import annotations

from typing import NamedTuple

from .algebra import Term, fma, has_scaling, polynomial, scaled, where

# (e^r - 1 - r) / r², smallest error relative to e^r - 1
_EXP32 = (0.5000000052233187, 0.16666666836162752, 0.04166632907593509, 0.008333268007774102, 0.0013943105378985746, 0.00019917167282470258)  # fmt: skip
_EXP64 = (0.5, 0.1666666666666668, 0.041666666666666706, 0.008333333333319613, 0.0013888888888863044, 0.00019841269891797582, 2.4801587368013672e-05, 2.755723802101144e-06, 2.7557236441983476e-07, 2.5111336798863464e-08, 2.092637423101599e-09)  # fmt: skip
# (2^r - 1) / r
_EXP2_32 = (0.6931471805402609, 0.24022651099197517, 0.055504109679315315, 0.00961803316756021, 0.001333342607235392, 0.0001546838960393025, 1.531609633069935e-05)  # fmt: skip
_EXP2_64 = (0.6931471805599453, 0.24022650695910072, 0.05550410866482171, 0.009618129107628498, 0.0013333558146387328, 0.00015403530393338105, 1.5252733859407329e-05, 1.3215486835454867e-06, 1.0178049813725537e-07, 7.0548873770510855e-09, 4.4568948021428517e-10, 2.5742994461774795e-11)  # fmt: skip
# (tanh x - x) / x³ as a polynomial in x²
_TANH32 = (-0.3333333178216323, 0.13333247783235433, -0.05395247482948408, 0.021734436460313384, -0.008267083618298702, 0.0022310576185389035)  # fmt: skip
_TANH64 = (-0.3333333333333333, 0.13333333333333322, -0.05396825396824478, 0.021869488535728107, -0.008863235518186187, 0.0035921278297182365, -0.0014558319142575606, 0.0005900068320077275, -0.0002390077024575824, 9.640960546540799e-05, -3.780907003447856e-05, 1.3036699446468396e-05, -2.850248411125429e-06)  # fmt: skip

# (sinh x - x) / x³ as a polynomial in x², up to 1
_SINH32 = (0.16666666488740878, 0.008333350596825417, 0.00019836066459082765, 2.8174385509107465e-06)  # fmt: skip
_SINH64 = (0.16666666666666669, 0.008333333333333139, 0.0001984126984143768, 2.755731915533744e-06, 2.505212339846575e-08, 1.6057240347036968e-10, 7.759312078801588e-13)  # fmt: skip


class _Format(NamedTuple):
    """What depends on the float's size."""

    exp: tuple[float, ...]
    exp2: tuple[float, ...]
    tanh: tuple[float, ...]
    bits: int  # of the fraction
    bias: int
    log2_high: float
    log2_low: float
    lowest: float  # below, e^x is zero
    highest: float  # above, infinite
    flat: float  # below, e^x - 1 is -1
    small: float  # below, tanh is a polynomial
    one: float  # above, tanh is 1


_SINGLE = _Format(
    _EXP32, _EXP2_32, _TANH32, 23, 127, 0.693359375, -2.12194440054690583e-4, -104.0, 89.0, -18.0, 0.55, 10.0
)  # fmt: skip
_DOUBLE = _Format(
    _EXP64, _EXP2_64, _TANH64, 52, 1023, 0.69314718036912382, 1.90821492927058770e-10, -746.0, 710.0, -40.0, 0.5, 20.0
)  # fmt: skip
LOG2_E = 1.4426950408889634


def _format(x: Term) -> _Format:
    return _SINGLE if x.dtype.itemsize == 4 else _DOUBLE


def nearest_whole(x: Term, factor: float) -> tuple[Term, Term]:
    """The whole number nearest to x·factor, as a float and as an integer (only its low bits count)."""
    magic = x.like(1.5 * 2.0 ** _format(x).bits)  # added, it leaves no bits for a fraction
    shifted = fma(x, factor, magic)
    return shifted - magic, shifted.bits() - magic.bits()


def power_of_two(n: Term, like: Term) -> Term:
    """2^n for an integer within the range of ordinary numbers."""
    form = _format(like)
    return (n + form.bias).integer("shl", form.bits).as_float(like.dtype)


def _scaled(y: Term, whole: Term, n: Term) -> Term:
    """y · 2^n, also where 2^n alone would overflow or vanish; `whole` is n as a float."""
    if has_scaling(y):
        return scaled(y, whole)
    half = n.integer("ashr", 1)
    return y * power_of_two(half, y) * power_of_two(n - half, y)


def _clamp(x: Term, low: float, high: float) -> Term:
    """Within limits; NaN stays."""
    x = where(x.compare("lt", low), x.like(low), x)
    return where(x.compare("gt", high), x.like(high), x)


def _reduced(x: Term) -> tuple[Term, Term, Term, Term]:
    """n as a float and as an integer, r = x - n·ln 2, and what rounding r lost."""
    form = _format(x)
    whole, n = nearest_whole(x, LOG2_E)
    high = fma(whole, -form.log2_high, x)
    low = whole * form.log2_low
    r = high - low
    return whole, n, r, (high - r) - low


def exp(x: Term) -> Term:
    form = _format(x)
    whole, n, r, _ = _reduced(_clamp(x, form.lowest, form.highest))
    return _scaled(fma(r * r, polynomial(r, form.exp), r) + 1.0, whole, n)


def exp_times_power_of_two(x: Term, shift: int, more: Term | None = None) -> Term:
    """e^x · 2^shift, with what rounding r lost put back: within 0.8 units in the last place.

    `more` is a small number that belongs to x.
    """
    form = _format(x)
    whole, n, r, lost = _reduced(_clamp(x, form.lowest, form.highest + 1.0))
    curve = r * r * polynomial(r, form.exp)
    if more is not None:
        lost = fma(more, curve + r + 1.0, lost)
    y = ((curve + lost) + r) + 1.0
    return _scaled(y, whole + float(shift), n + shift)


def expm1(x: Term) -> Term:
    """2^n·(e^r - 1) + (2^n - 1), halved on the way so that 2^n never overflows."""
    form = _format(x)
    _, n, r, lost = _reduced(_clamp(x, form.flat, form.highest))
    less = r + fma(r * r, polynomial(r, form.exp), lost)
    half = power_of_two(n - 1, x)
    result = fma(half, less, half - 0.5) * 2.0
    return where(x.abs().compare("lt", 2.0**-form.bits), x, result)


def exp2(x: Term) -> Term:
    form = _format(x)
    x = _clamp(x, -form.bias - form.bits - 3.0, form.bias + 2.0)
    whole, n = nearest_whole(x, 1.0)
    r = x - whole
    return _scaled(fma(r, polynomial(r, form.exp2), 1.0), whole, n)


def tanh(x: Term) -> Term:
    """A polynomial near zero; else 1 - 2 / (e^2x + 1)."""
    form = _format(x)
    z = x * x
    near = fma(x * z, polynomial(z, form.tanh), x)
    size = x.abs()
    size = where(size.compare("gt", form.one), x.like(form.one), size)
    far = 1.0 - 2.0 / (exp(size + size) + 1.0)
    return where(size.compare("lt", form.small), near, far).call("copysign", x)


def sigmoid(x: Term) -> Term:
    """1 / (1 + e^-x), from e^-|x| so that nothing overflows; what rounding e^-|x| lost is added at the end."""
    form = _format(x)
    whole, n, r, lost = _reduced(_clamp(-x.abs(), form.lowest, form.highest))
    less = fma(r * r, polynomial(r, form.exp), r)
    y = less + 1.0
    e = _scaled(y, whole, n)
    rest = _scaled((less - (y - 1.0)) + lost, whole, n)
    right = x.compare("ge", 0.0)
    quotient = where(right, x.like(1.0), e) / (1.0 + e)
    return quotient + where(right, x.like(0.0), rest)


def sinh(x: Term) -> Term:
    """A polynomial up to 1; else h - 1 / 4h with h = e^|x| / 2."""
    z = x * x
    near = fma(x * z, polynomial(z, _SINH32 if x.dtype.itemsize == 4 else _SINH64), x)
    size = x.abs()
    half = exp_times_power_of_two(size, -1)
    far = half - 0.25 / half
    return where(size.compare("lt", 1.0), near, far.call("copysign", x))


def cosh(x: Term) -> Term:
    half = exp_times_power_of_two(x.abs(), -1)
    return half + 0.25 / half
