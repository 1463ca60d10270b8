"""The functions beyond arithmetic, by name: polynomials where training needs them, the C library's else."""

from __future__ import annotations

from collections.abc import Callable

from .algebra import Term, where
from .types import FLOAT32, FLOAT64
from .vector_math_erf import erf, erfc
from .vector_math_exp import cosh, exp, exp2, expm1, sigmoid, sinh, tanh
from .vector_math_log import log, log1p, log2, log10, logaddexp
from .vector_math_trig import cos, sin, tan

_LIBRARY = {
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "cbrt": "cbrt",
    "arctan2": "atan2",
    "hypot": "hypot",
}


def _of_library(name: str) -> Callable[..., Term]:
    return lambda *terms: terms[0].library(name, *terms[1:])


_SMALL: dict[float, Callable[[Term], Term]] = {
    1.0: lambda x: x,
    2.0: lambda x: x * x,
    -1.0: lambda x: 1.0 / x,
    0.5: lambda x: x.call("sqrt"),
}


def power(x: Term, y: Term) -> Term:
    """In float32 e^(y·log|x|) in float64, with the C standard's special cases; in float64 the C library's."""
    for number, result in _SMALL.items():
        if y.value.text == y.like(number).value.text:
            return result(x)
    if x.dtype == FLOAT64:
        return x.library("pow", y)
    wide, exponent = x.to(FLOAT64), y.to(FLOAT64)
    size = exp(exponent * log(wide.abs())).to(FLOAT32)
    whole = y.call("trunc").compare("eq", y)
    half = y * 0.5
    odd = whole & half.call("trunc").compare("ne", half)
    negative = x.bits().compare("lt", 0)
    signed = where(negative & odd, -size, size)
    unreal = x.compare("lt", 0.0) & ~whole & x.compare("gt", float("-inf"))
    signed = where(unreal, x.like(float("nan")), signed)
    one = x.compare("eq", 1.0) | y.compare("eq", 0.0)
    one = one | (x.compare("eq", -1.0) & y.abs().compare("eq", float("inf")))
    return where(one, x.like(1.0), signed)


def _xlogy(x: Term, y: Term) -> Term:
    zero = x.compare("eq", 0.0) & y.compare("eq", y)
    return where(zero, x.like(0.0), x * log(y))


def _xlog1py(x: Term, y: Term) -> Term:
    zero = x.compare("eq", 0.0) & y.compare("eq", y)
    return where(zero, x.like(0.0), x * log1p(y))


def _log_sigmoid(x: Term) -> Term:
    """min(x, 0) - log(1 + e^-|x|)."""
    low = where(x.compare("gt", 0.0), x.like(0.0), x)
    return low - log1p(exp(-x.abs()))


RULES: dict[str, Callable[..., Term]] = {
    **{name: _of_library(function) for name, function in _LIBRARY.items()},
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "tanh": tanh,
    "sinh": sinh,
    "cosh": cosh,
    "expit": sigmoid,
    "log": log,
    "log1p": log1p,
    "log2": log2,
    "log10": log10,
    "logaddexp": logaddexp,
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "erf": erf,
    "erfc": erfc,
    "xlogy": _xlogy,
    "xlog1py": _xlog1py,
    "log_expit": _log_sigmoid,
}
