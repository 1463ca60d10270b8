"""Activations, forward and backward: one kernel each, where the formula would be a chain of them."""

from __future__ import annotations

from typing import Any

from ..._arrays.cuda.cuda_array import new
from .launch import Kernel, dense, fit_any, pointwise, run_pointwise
from .specialise import forward_of, rule_of, takes_half


def _of_one(name: str, expression: str) -> Kernel:
    return pointwise(name, "x", f"v = {expression};")


def _of_two(name: str, expression: str) -> Kernel:
    return pointwise(name, "gx", f"v = {expression};")


def of_one(found: Kernel, x: Any) -> Any:
    """A kernel of one element per thread; None where it does not apply."""
    if not fit_any(x):
        return None
    return run_pointwise(found, new(x.shape, x.dtype), x)


def of_two(found: Kernel, g: Any, x: Any) -> Any:
    """The same of two arrays of one shape."""
    if g.shape != x.shape:
        return None
    g = dense(g)
    if not fit_any(g, x):
        return None
    return run_pointwise(found, new(x.shape, x.dtype), g, x)


_SHARE = "(T)0.5 * ((T)1 + erf(X * (T)0.70710678118654752440))"
_INNER = "tanh((T)0.79788456080286535588 * (X + (T)0.044715 * X * X * X))"
RELU = _of_one("relu", "X <= (T)0 ? (X == (T)0 ? X : (T)0) : X")
RELU_BACK = _of_two("relu_back", "X <= (T)0 ? (T)0 : G")
GELU = _of_one("gelu", f"X * {_SHARE}")
GELU_BACK = _of_two(
    "gelu_back",
    f"G * ({_SHARE} + X * exp((T)-0.5 * X * X) * (T)0.39894228040143267794)",
)
GELU_TANH = _of_one("gelu_tanh", f"(T)0.5 * X * ((T)1 + {_INNER})")
GELU_TANH_BACK = pointwise(
    "gelu_tanh_back",
    "gx",
    f"T t = {_INNER}, slope = (T)0.79788456080286535588 * ((T)1 + (T)0.134145 * X * X);"
    "v = G * ((T)0.5 * ((T)1 + t) + (T)0.5 * X * ((T)1 - t * t) * slope);",
)
SIGMOID_BACK = _of_two("sigmoid_back", "G * X * ((T)1 - X)")
TANH_BACK = _of_two("tanh_back", "G * ((T)1 - X * X)")
SILU = _of_one("silu", "X / ((T)1 + exp(-X))")
SILU_BACK = pointwise(
    "silu_back", "gx", "T s = (T)1 / ((T)1 + exp(-X)); v = G * s * ((T)1 + X * ((T)1 - s));"
)


def install() -> None:
    """Put these in place."""
    forward_of("relu", half=True)(lambda x: of_one(RELU, x))
    rule_of("relu", "x")(lambda g, out: of_two(RELU_BACK, g, out))
    forward_of("gelu", half=True)(
        lambda x, approximate: of_one(GELU_TANH if approximate == "tanh" else GELU, x)
    )
    rule_of("gelu", "x")(
        lambda g, x, approximate: of_two(
            GELU_TANH_BACK if approximate == "tanh" else GELU_BACK, g, x
        )
    )
    rule_of("sigmoid", "x")(lambda g, out: of_two(SIGMOID_BACK, g, out))
    rule_of("tanh", "x")(lambda g, out: of_two(TANH_BACK, g, out))
    forward_of("silu", half=True)(lambda x: of_one(SILU, x))
    rule_of("silu", "x")(lambda g, x: of_two(SILU_BACK, g, x))
    for name in ("relu", "gelu", "sigmoid", "tanh", "silu"):
        takes_half(name)
