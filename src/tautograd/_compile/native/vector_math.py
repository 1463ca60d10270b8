"""The functions beyond arithmetic, by name: polynomials where training needs them, the C library's else."""

from __future__ import annotations

from collections.abc import Callable

from .algebra import Term

_LIBRARY = {
    "exp": "exp",
    "log": "log",
    "expm1": "expm1",
    "log1p": "log1p",
    "exp2": "exp2",
    "log2": "log2",
    "log10": "log10",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "cbrt": "cbrt",
    "erf": "erf",
    "erfc": "erfc",
}


def _of_library(name: str) -> Callable[..., Term]:
    return lambda *terms: terms[0].library(name, *terms[1:])


def power(x: Term, y: Term) -> Term:
    exponent = y.value.text
    for number, result in _SMALL.items():
        if exponent == y.like(number).value.text:
            return result(x)
    return x.library("pow", y)


_SMALL: dict[float, Callable[[Term], Term]] = {
    1.0: lambda x: x,
    2.0: lambda x: x * x,
    -1.0: lambda x: 1.0 / x,
    0.5: lambda x: x.call("sqrt"),
}

RULES: dict[str, Callable[..., Term]] = {
    **{name: _of_library(function) for name, function in _LIBRARY.items()},
    "arctan2": _of_library("atan2"),
    "hypot": _of_library("hypot"),
}
