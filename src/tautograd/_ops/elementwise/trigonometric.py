"""Trigonometric and hyperbolic functions with their inverses, and degrees."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._autograd.node import rename_node
from ..declare.elementwise_calls import binary, conj, unary
from ..declare.in_place_twins import as_function, inplace_twin
from ..declare.public import FUNCTIONS, NN_FUNCTIONAL, attach
from ..declare.samples import over, pairs
from ..declare.undefined_dtypes import negated, no_kernel, refusal
from .exponential import rsqrt_op

sin_op = unary("sin", np.sin, d=lambda x: np.cos(x), doc="The sine.", samples=over())
cos_op = unary("cos", np.cos, d=lambda x: -np.sin(x), doc="The cosine.", samples=over())
tan_op = unary("tan", np.tan, d=lambda out: 1 + out**2, doc="The tangent.", samples=over(-1.2, 1.2))
sinh_op = unary("sinh", np.sinh, d=lambda x: np.cosh(x), doc="The hyperbolic sine.", samples=over())
cosh_op = unary(
    "cosh", np.cosh, d=lambda x: np.sinh(x), doc="The hyperbolic cosine.", samples=over()
)
tanh_op = unary(
    "tanh", np.tanh, d=lambda out: 1 - out * out, doc="The hyperbolic tangent.", samples=over()
)
asin_op = unary(
    "asin",
    np.arcsin,
    d=lambda x: rsqrt_op(1 - x * x),
    aliases=("arcsin",),
    doc="The angle whose sine is each element.",
    samples=over(-0.9, 0.9),
)
acos_op = unary(
    "acos",
    np.arccos,
    d=lambda x: -rsqrt_op(1 - x * x),
    aliases=("arccos",),
    doc="The angle whose cosine is each element.",
    samples=over(-0.9, 0.9),
)
atan_op = unary(
    "atan",
    np.arctan,
    vjp=lambda g, x: g / conj(x * x + 1),
    jvp=lambda t, x: t / (x * x + 1),
    aliases=("arctan",),
    doc="The angle whose tangent is each element.",
    samples=over(),
)
asinh_op = unary(
    "asinh",
    np.arcsinh,
    d=lambda x: rsqrt_op(x * x + 1),
    aliases=("arcsinh",),
    doc="The inverse of `sinh`.",
    samples=over(),
)
acosh_op = unary(
    "acosh",
    np.arccosh,
    d=lambda x: rsqrt_op(x * x - 1),
    aliases=("arccosh",),
    doc="The inverse of `cosh`.",
    samples=over(1.2, 3),
)
atanh_op = unary(
    "atanh",
    np.arctanh,
    vjp=lambda g, x: g / conj(1 - x * x),
    jvp=lambda t, x: t / (1 - x * x),
    aliases=("arctanh",),
    doc="The inverse of `tanh`.",
    samples=over(-0.9, 0.9),
)
deg2rad_op = unary(
    "deg2rad",
    lambda x: x * (math.pi / 180),
    vjp=lambda g: g * (math.pi / 180),
    jvp=lambda t: t * (math.pi / 180),
    node="Deg2RadBackward0",
    refuses=refusal("deg2rad is not supported for complex tensors.", "c"),
    doc="Degrees to radians.",
    samples=over(-180, 180),
)
rad2deg_op = unary(
    "rad2deg",
    lambda x: x * (180 / math.pi),
    vjp=lambda g: g * (180 / math.pi),
    jvp=lambda t: t * (180 / math.pi),
    node="Rad2DegBackward0",
    refuses=refusal("rad2deg is not supported for complex tensors.", "c"),
    doc="Radians to degrees.",
    samples=over(),
)


def _inverse_square(x: Any, y: Any) -> Any:
    """1 / (x² + y²), and 0 at the origin, where the angle has no slope."""
    square = x * x + y * y
    origin = square == 0
    return np.where(origin, 0, 1 / np.where(origin, 1, square))


atan2_op = binary(
    "atan2",
    np.arctan2,
    d={
        "x": lambda x, y: y * _inverse_square(x, y),
        "y": lambda x, y: negated(x) * _inverse_square(x, y),
    },
    promotion="float",
    aliases=("arctan2",),
    node="Atan2Backward0",
    refuses=no_kernel("atan2_cpu", "c"),
    doc="The angle of the point (other, input), in its quadrant.",
    samples=pairs((0.3, 2), (-2, 2)),
)
hypot_op = binary(
    "hypot",
    np.hypot,
    d={"x": lambda x, out: x / out, "y": lambda y, out: y / out},
    refuses=no_kernel("hypot_cpu", "bic"),
    doc="`sqrt(input² + other²)` without overflow.",
    samples=pairs((0.3, 2), (-2, 2)),
)

NN_FUNCTIONAL["tanh"] = FUNCTIONS["tanh"]


def _twin_with_its_own_node(name: str) -> None:
    """In place, PyTorch has another rule for these inverses, and so another node."""
    function = FUNCTIONS[name]

    def compute(input: Any) -> Any:
        result = function(input)
        rename_node(result._node, f"{name.capitalize()}Backward1")
        return result

    for label in (name, "arc" + name[1:]):
        twin = inplace_twin(label, compute)
        attach(label + "_", twin)
        FUNCTIONS[label + "_"] = as_function(twin)


for _name in ("asinh", "acosh", "atanh"):
    _twin_with_its_own_node(_name)
