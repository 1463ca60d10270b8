"""`x.addmm_(beta, alpha, a, b)`: the order of arguments that PyTorch once had, with a warning."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from ...._user_code.sites import warning_level
from ...declare.public import FUNCTIONS, METHODS, Function, attach
from . import addmm as _addmm  # noqa: F401  (whose functions these are)

_NAMES = {
    "addbmm": "batch1 batch2",
    "addmm": "mat1 mat2",
    "addmv": "mat vec",
    "addr": "vec1 vec2",
    "baddbmm": "batch1 batch2",
}
_NUMBERS = (int, float, complex)


def _warn(name: str, with_alpha: bool) -> None:
    first, second = _NAMES[name.rstrip("_")].split()
    factors = "Number beta, Number alpha" if with_alpha else "Number beta"
    warnings.warn(
        f"This overload of {name} is deprecated:\n\t{name}({factors}, Tensor {first}, Tensor {second})\n"
        f"Consider using one of the following signatures instead:\n\t{name}(Tensor {first}, Tensor "
        f"{second}, *, Number beta = 1, Number alpha = 1)",
        UserWarning,
        stacklevel=warning_level(),
    )


def _with_old_order(name: str, fn: Function, method: bool) -> Function:
    """The function, or method, that also takes its factors by position, before what they multiply."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) < 4 or not isinstance(args[1 if method else 0], _NUMBERS):
            return fn(*args, **kwargs)
        # Of a method: self, beta, [alpha,] a, b; of a function: beta, input, [alpha,] a, b.
        input, beta = (args[0], args[1]) if method else (args[1], args[0])
        rest = args[2:]
        if len(rest) == 3 and isinstance(rest[0], _NUMBERS):
            kwargs["alpha"], rest = rest[0], rest[1:]
        _warn(name, "alpha" in kwargs)
        return fn(input, *rest, beta=beta, **kwargs)

    return call  # guarded where it is published


for _name in _NAMES:
    FUNCTIONS[_name] = _with_old_order(_name, FUNCTIONS[_name], method=False)
    for _label in (_name, f"{_name}_"):
        attach(_label, _with_old_order(_label, METHODS[_label], method=True))
