"""The operations in which update formulas are written: PyTorch's, each rounded once.

An optimizer's formula consists of these functions and of NumPy's. They work on arrays, on the values of
a program being recorded (`_program.py`) and on recorded tensors alike. In half precision
PyTorch computes each of these in float32 and rounds its result; `rounded` marks where.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._autograd.lifted import Lifted


def rounded(x: Any) -> Any:
    """A value rounded to the parameter's dtype."""
    keep = getattr(x, "rounded", None)
    return x if keep is None else keep()


def narrow(number: Any) -> Any:
    """A constant of the formula rounded to the parameter's dtype; an array already is."""
    return rounded(number) if getattr(number, "is_constant", False) else number


def add(x: Any, y: Any, alpha: Any = None) -> Any:
    """x + alpha·y; unlike in the others, PyTorch rounds the constants in it first."""
    return rounded(x + (narrow(y) if alpha is None else y * narrow(alpha)))


def multiply(x: Any, y: Any) -> Any:
    return rounded(x * y)


def divide(x: Any, y: Any) -> Any:
    return rounded(x / y)


def over(number: Any, x: Any) -> Any:
    """number / x, which PyTorch computes as the number times 1 / x."""
    return rounded(rounded(1.0 / x) * number)


def sqrt(x: Any) -> Any:
    return rounded(np.sqrt(x))


def lerp(start: Any, end: Any, weight: Any) -> Any:
    """start + weight·(end - start)"""
    return rounded(start + (end - start) * weight)


def addcmul(x: Any, y: Any, z: Any, value: Any = None) -> Any:
    """x + value·y·z"""
    return rounded(x + (y if value is None else y * value) * z)


def addcdiv(x: Any, y: Any, z: Any, value: Any = None) -> Any:
    """x + value·y / z"""
    return rounded(x + (y if value is None else y * value) / z)


def detached(x: Any) -> Any:
    """The value without its history."""
    return Lifted(x.tensor.detach().clone()) if isinstance(x, Lifted) else x


# --- first steps shared by several formulas --------------------------------------------------------


def decayed(p: Any, g: Any, c: Any, maximize: Any, decays: Any) -> Any:
    """The gradient to follow: negated for maximisation, with the weight decay added."""
    if maximize:
        g = -g
    return add(g, p, c.decay) if decays else g


def moments(p: Any, g: Any, states: Any, c: Any, flags: Any) -> tuple[Any, Any, Any, Any]:
    """Adam's running averages of the gradient and its square, after a decay of either kind."""
    maximize, decays, decoupled = flags
    m, v = states
    g = decayed(p, g, c, maximize, decays and not decoupled)
    if decays and decoupled:
        p = multiply(p, c.keep)
    m = lerp(m, g, c.weight1)
    v = addcmul(multiply(v, c.beta2), g, g, c.weight2)
    return p, g, m, v
