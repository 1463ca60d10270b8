"""Sums, products, quotients, powers and the operators that mean them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._autograd.lifted import COUNTERPARTS
from .._tensor.tensor import Tensor
from .elementwise import call_elementwise, conj, require_operand, require_tensor
from .public import public
from .record import LINEAR, MULTILINEAR, Op

add_op = Op(
    "add",
    np.add,
    ("x", "y"),
    vjp={"x": lambda g: g, "y": lambda g: g},
    jvp=LINEAR,
    promotion="common",
)
mul_op = Op(
    "mul",
    np.multiply,
    ("x", "y"),
    vjp={"x": lambda g, y: g * conj(y), "y": lambda g, x: g * conj(x)},
    jvp=MULTILINEAR,
    promotion="common",
)


@public(inplace=True)
def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """`input + alpha * other`."""
    return call_elementwise(add_op, (input, other if alpha == 1 else other * alpha), {})


@public(inplace=True, aliases=("multiply",))
def mul(input: Any, other: Any) -> Tensor:
    """`input * other`, element by element."""
    if not isinstance(input, Tensor):
        require_tensor("mul", input)
    require_operand("mul", other, "other", 2)
    return call_elementwise(mul_op, (input, other), {})

COUNTERPARTS[np.add] = add
COUNTERPARTS[np.multiply] = mul
cls: Any = Tensor
cls.__add__ = cls.__radd__ = add
cls.__mul__ = cls.__rmul__ = mul
cls.__iadd__ = cls.add_
