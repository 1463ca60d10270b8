"""Activations, forward and backward: one kernel each, where the formula would be a chain of them."""

from __future__ import annotations

from typing import Any

from ..._arrays.cuda.cuda_array import new
from .launch import THREADS, Kernel, blocks_for, dense, fit_any, kernel
from .specialise import forward_of, rule_of, takes_half

_INDEX = "Int i = (Int)blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;"


def _of_one(name: str, expression: str) -> Kernel:
    return kernel(
        name, f"(const S* a, S* r, Int n) {{ {_INDEX} T x = a[i]; r[i] = {expression}; }}"
    )


def _of_two(name: str, expression: str) -> Kernel:
    return kernel(
        name,
        "(const S* a, const S* b, S* r, Int n) "
        f"{{ {_INDEX} T g = a[i], x = b[i]; r[i] = {expression}; }}",
    )


def of_one(found: Kernel, x: Any) -> Any:
    """A kernel of one element per thread; None where it does not apply."""
    if not fit_any(x):
        return None
    out = new(x.shape, x.dtype)
    found(x.dtype.char, blocks_for(x.size), THREADS, x.ptr, out.ptr, x.size)
    return out


def of_two(found: Kernel, g: Any, x: Any) -> Any:
    """The same of two arrays of one shape."""
    if g.shape != x.shape:
        return None
    g = dense(g)
    if not fit_any(g, x):
        return None
    out = new(x.shape, x.dtype)
    found(x.dtype.char, blocks_for(x.size), THREADS, g.ptr, x.ptr, out.ptr, x.size)
    return out


_SHARE = "(T)0.5 * ((T)1 + erf(x * (T)0.70710678118654752440))"
_INNER = "tanh((T)0.79788456080286535588 * (x + (T)0.044715 * x * x * x))"
RELU = _of_one("relu", "x <= (T)0 ? (x == (T)0 ? x : (T)0) : x")
RELU_BACK = _of_two("relu_back", "x <= (T)0 ? (T)0 : g")
GELU = _of_one("gelu", f"x * {_SHARE}")
GELU_BACK = _of_two(
    "gelu_back",
    f"g * ({_SHARE} + x * exp((T)-0.5 * x * x) * (T)0.39894228040143267794)",
)
GELU_TANH = _of_one("gelu_tanh", f"(T)0.5 * x * ((T)1 + {_INNER})")
GELU_TANH_BACK = kernel(
    "gelu_tanh_back",
    "(const S* a, const S* b, S* r, Int n) {"
    f"{_INDEX} T g = a[i], x = b[i], t = {_INNER};"
    "T slope = (T)0.79788456080286535588 * ((T)1 + (T)0.134145 * x * x);"
    "r[i] = g * ((T)0.5 * ((T)1 + t) + (T)0.5 * x * ((T)1 - t * t) * slope); }",
)
SIGMOID_BACK = _of_two("sigmoid_back", "g * x * ((T)1 - x)")
TANH_BACK = _of_two("tanh_back", "g * ((T)1 - x * x)")
SILU = _of_one("silu", "x / ((T)1 + exp(-x))")
SILU_BACK = kernel(
    "silu_back",
    f"(const S* a, const S* b, S* r, Int n) {{ {_INDEX} T g = a[i], x = b[i];"
    "T s = (T)1 / ((T)1 + exp(-x)); r[i] = g * s * ((T)1 + x * ((T)1 - s)); }",
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
