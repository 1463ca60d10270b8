"""Normal numbers of single precision by Box and Muller's formula, in the blocks of 16 that PyTorch fills.

The polynomials and the order of roundings are those of `_random/box_muller`, which says where they come from; here the
fused steps are the processor's own.
"""

from __future__ import annotations

from typing import Any

from .._arrays.kernels import BLOCK
from .._compile.native.llvm.algebra import Term, fma, where
from .._compile.native.llvm.types import INT32
from .._random import box_muller as formula
from .writer import BEGIN, END, Writer

_HALF = formula.BLOCK // 2
_MANTISSA, _EXPONENT_OF_HALF, _BIAS = (1 << 23) - 1, 126 << 23, 126


def _horner(x: Term, terms: tuple[float, ...]) -> Term:
    """The polynomial with these coefficients, highest power first."""
    result = fma(x, terms[0], terms[1])
    for term in terms[2:]:
        result = fma(result, x, term)
    return result


def _log(values: Term) -> Term:
    """The logarithm of normal numbers in (0, 1]."""
    bits = values.bits()
    mantissa = ((bits & _MANTISSA) | _EXPONENT_OF_HALF).as_float(values.dtype)
    exponent = (bits.integer("lshr", 23).integer("sub", _BIAS)).to(values.dtype)
    below = mantissa.compare("lt", formula.SQRT_HALF)
    power = where(below, exponent - 1.0, exponent)
    x = where(below, mantissa + mantissa, mantissa) - 1.0
    square = x * x
    result = _horner(x, formula.LOG_TERMS) * x
    result = fma(result, square, power * formula.LN2_LOW)
    result = result - square * 0.5 + x
    return fma(power, formula.LN2_HIGH, result)


def _sin_cos(angles: Term) -> tuple[Term, Term]:
    """Sine and cosine of angles in [0, 2 pi]."""
    octant = ((angles * formula.FOUR_OVER_PI).to(INT32).integer("add", 1)) & ~1
    nearest = octant.to(angles.dtype)
    x = angles
    for part in formula.QUARTER_PI_PARTS:
        x = fma(nearest, -part, x)
    square = x * x
    cosine = _horner(square, formula.COS_TERMS) * square
    cosine = fma(cosine, square, -(square * 0.5)) + 1.0
    sine = fma(_horner(square, formula.SIN_TERMS) * square, x, x)
    upright = (octant & 2).compare("eq", 0)
    sine, cosine = where(upright, sine, cosine), where(upright, cosine, sine)
    down = (octant & 4).compare("ne", 0)
    left = (octant.integer("sub", 2) & 4).compare("eq", 0)
    return where(down, -sine, sine), where(left, -cosine, cosine)


def normals(w: Writer) -> None:
    """`(words, out, blocks, mean, std)`: 16 numbers of each 16 random words of 32 bits."""
    words, out, blocks, mean, std = w.arguments()
    w.lanes = _HALF
    scale, shift = w.splat(w.number(std)), w.splat(w.number(mean))
    per_unit = BLOCK // formula.BLOCK
    stop = w.least(w.times(END, per_unit), blocks)

    def uniform(place: str) -> Term:
        word = w.load(w.at(words, place, INT32), None, INT32)
        return (word & ((1 << 24) - 1)).to(w.dtype) * 2.0**-24

    with w.each(w.times(BEGIN, per_unit), stop) as block:
        first = w.times(block, formula.BLOCK)
        second = w.plus(first, _HALF)
        radius = (_log(1.0 - uniform(first)) * -2.0).call("sqrt")
        sine, cosine = _sin_cos(uniform(second) * float(formula.TWO_PI))
        for place, direction in ((first, cosine), (second, sine)):
            w.store(fma(direction * radius, scale, shift), w.at(out, place))


NORMALS: dict[str, Any] = {"random_normals": ("aanxx", normals)}
