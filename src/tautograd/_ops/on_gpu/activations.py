"""Activations, forward and backward: one kernel each, where the formula would be a chain of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.cuda_array import CudaArray, wrap
from .launch import THREADS, Kernel, blocks_for, dense, empty, kernel, raws
from .specialise import forward_of, rule_of

_INDEX = "Int i = (Int)blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;"


def _of_one(name: str, expression: str) -> Kernel:
    return kernel(
        name, f"(const T* a, T* r, Int n) {{ {_INDEX} T x = a[i]; r[i] = {expression}; }}"
    )


def _of_two(name: str, expression: str) -> Kernel:
    return kernel(
        name,
        "(const T* a, const T* b, T* r, Int n) "
        f"{{ {_INDEX} T g = a[i], x = b[i]; r[i] = {expression}; }}",
    )


def run(found: Kernel, *arrays: Any) -> Any:
    """A kernel of one element per thread, on arrays of one shape; None where it does not apply."""
    given = raws(*arrays)
    if given is None or any(a.shape != given[0].shape for a in given[1:]):
        return None
    first = given[0]
    out = empty(first.shape, first.dtype)
    found(first.dtype.char, blocks_for(first.size), THREADS, *given, out, first.size)
    return wrap(out)


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
    "(const T* a, const T* b, T* r, Int n) {"
    f"{_INDEX} T g = a[i], x = b[i], t = {_INNER};"
    "T slope = (T)0.79788456080286535588 * ((T)1 + (T)0.134145 * x * x);"
    "r[i] = g * ((T)0.5 * ((T)1 + t) + (T)0.5 * x * ((T)1 - t * t) * slope); }",
)
SIGMOID_BACK = _of_two("sigmoid_back", "g * x * ((T)1 - x)")
TANH_BACK = _of_two("tanh_back", "g * ((T)1 - x * x)")
SILU = _of_one("silu", "x / ((T)1 + exp(-x))")
SILU_BACK = kernel(
    "silu_back",
    f"(const T* a, const T* b, T* r, Int n) {{ {_INDEX} T g = a[i], x = b[i];"
    "T s = (T)1 / ((T)1 + exp(-x)); r[i] = g * s * ((T)1 + x * ((T)1 - s)); }",
)


PLUS_PRODUCT = kernel(
    "plus_product",
    f"(const T* a, const T* b, T* r, Int n, double alpha) {{ {_INDEX} r[i] = fma(b[i], (T)alpha, a[i]); }}",
)


def _plus_product(x: Any, y: Any, alpha: Any) -> Any:
    """x + alpha·y, rounded once."""
    if isinstance(alpha, complex) or getattr(y, "shape", None) != x.shape:
        return None
    given = raws(x, y)
    if given is None:
        return None
    out = empty(x.shape, x.dtype)
    size = given[0].size
    PLUS_PRODUCT(x.dtype.char, blocks_for(size), THREADS, *given, out, size, float(alpha))
    return wrap(out)


def _broadcast(x: Any, y: Any) -> Any:
    """Two of the GPU's arrays in the shape of their sum."""
    if type(y) is not CudaArray or y.dtype != x.dtype or x.dtype.char not in "fd":
        return None
    shape = np.broadcast_shapes(x.shape, y.shape)
    return [dense(np.broadcast_to(v, shape)) for v in (x, y)]


def _scaled_sum(x: Any, y: Any, alpha: Any) -> Any:
    pair = _broadcast(x, y)
    return None if pair is None else _plus_product(pair[0], pair[1], alpha)


def install() -> None:
    """Put these in place."""
    forward_of("add_scaled")(lambda x, y, alpha: _scaled_sum(x, y, alpha))
    forward_of("sub_scaled")(lambda x, y, alpha: _scaled_sum(x, y, -alpha))
    forward_of("relu")(lambda x: run(RELU, x))
    rule_of("relu", "x")(lambda g, out: run(RELU_BACK, g, out))
    forward_of("gelu")(lambda x, approximate: run(GELU_TANH if approximate == "tanh" else GELU, x))
    rule_of("gelu", "x")(
        lambda g, x, approximate: run(GELU_TANH_BACK if approximate == "tanh" else GELU_BACK, g, x)
    )
    rule_of("sigmoid", "x")(lambda g, out: run(SIGMOID_BACK, g, out))
    rule_of("tanh", "x")(lambda g, out: run(TANH_BACK, g, out))
    forward_of("silu")(lambda x: run(SILU, x))
    rule_of("silu", "x")(lambda g, x: run(SILU_BACK, g, x))
