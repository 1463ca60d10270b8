"""Functions of Python's `math` on symbols: for the length of a recording they are ones that note what they do.

They are written in C, and would ask a symbol for its value. Only the thread that records sees them. Whoever took
one by its name before (`from math import exp`) has the original, which does ask. What `json` writes is asked for
its value as well: it would not know a symbol for a number.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from typing import Any

from ..._stand_ins.per_thread import InThisThread
from .symbols import Symbol

_NAMES = (
    *("exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "pow", "fabs", "copysign", "fmod"),
    *("sin", "cos", "tan", "tanh", "sinh", "cosh", "atan", "asin", "acos", "atan2", "hypot"),
    *("erf", "erfc", "degrees", "radians", "isnan", "isinf", "isfinite"),
)


def _followed(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for arg in args:
            if type(arg) is Symbol and not kwargs:
                return arg.scalars.compute(function, args)
        return function(*args, **kwargs)

    return call


def _written(self: Any, value: Any) -> Any:
    return value.asked() if type(value) is Symbol else _default(self, value)


_default = json.JSONEncoder.default
_functions = {name: _followed(getattr(math, name)) for name in _NAMES}
# Within it `math` takes symbols, in this thread.
following_math = InThisThread(math, _functions, (json.JSONEncoder, "default", _written))
