"""Functions of Python's `math` on symbols: for the length of a recording they are ones that note what they do.

They are written in C, and would ask a symbol for its value. Whoever took one by its name before
(`from math import exp`) has the original, which does ask. What `json` writes is asked for its value as well: it
would not know a symbol for a number.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from typing import Any

from .patched import Replaced
from .symbols import Symbol

_NAMES = (
    *("exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "pow", "fabs", "copysign", "fmod"),
    *("sin", "cos", "tan", "tanh", "sinh", "cosh", "atan", "asin", "acos", "atan2", "hypot"),
    *("erf", "erfc", "degrees", "radians", "isnan", "isinf", "isfinite"),
)
_original = {name: getattr(math, name) for name in _NAMES}


def _followed(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for arg in args:
            if type(arg) is Symbol and not kwargs:
                return arg.scalars.compute(function, args)
        return function(*args, **kwargs)

    return call


_default = json.JSONEncoder.default


def _written(self: Any, value: Any) -> Any:
    return value.asked() if type(value) is Symbol else _default(self, value)


_functions = {name: _followed(function) for name, function in _original.items()}


def _put(functions: dict[str, Any], default: Callable[..., Any]) -> None:
    for name, function in functions.items():
        setattr(math, name, function)
    json.JSONEncoder.default = default  # type: ignore[method-assign]


# Within it `math` takes symbols.
following_math = Replaced(
    functools.partial(_put, _functions, _written), functools.partial(_put, _original, _default)
)
