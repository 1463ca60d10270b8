"""Activations, softmax, attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..graph import V
from ..lowering import lower, number, simple, unsupported

simple("Relu", "relu")
simple("Sigmoid", "sigmoid")
simple("Mish", "mish")
simple("PRelu", "prelu")
simple("HardSwish", "hardswish")
simple("HardSigmoid", "hardsigmoid", alpha=1 / 6, beta=0.5)


@lower("softplus")
def _softplus(g: Any, s: Any, x: V, beta: float, threshold: float) -> Any:
    scale = number(g, beta, x.dtype)
    scaled = x if beta == 1 else g.op("Mul", x, scale)
    soft = g.op("Softplus", scaled)
    soft = soft if beta == 1 else g.op("Div", soft, scale)
    return g.op("Where", g.op("Greater", scaled, number(g, threshold, x.dtype)), x, soft)


@lower("logsigmoid")
def _logsigmoid(g: Any, s: Any, x: V) -> Any:
    return g.op("Neg", g.op("Softplus", g.op("Neg", x)))


@lower("elu", "selu")
def _elu(g: Any, s: Any, x: V, alpha: float, scale: float, input_scale: float) -> Any:
    if input_scale == 1:
        found = g.op("Elu", x, alpha=float(alpha))
        return found if scale == 1 else g.op("Mul", found, number(g, scale, x.dtype))
    zero = number(g, 0, x.dtype)
    low = g.op("Mul", g.op("Min", x, zero), number(g, input_scale, x.dtype))
    low = g.op("Mul", g.op("Elu", low, alpha=float(alpha)), number(g, scale, x.dtype))
    high = g.op("Mul", g.op("Max", x, zero), number(g, scale, x.dtype))
    return g.op("Add", low, high)


@lower("celu")
def _celu(g: Any, s: Any, x: V, alpha: float) -> Any:
    scale, zero = number(g, alpha, x.dtype), number(g, 0, x.dtype)
    power = g.op("Sub", g.op("Exp", g.op("Div", x, scale)), number(g, 1, x.dtype))
    return g.op("Where", g.op("Greater", x, zero), x, g.op("Mul", scale, power))


@lower("gelu")
def _gelu(g: Any, s: Any, x: V, approximate: str) -> Any:
    if g.opset >= 20:
        return g.op("Gelu", x, approximate=approximate)
    half = g.op("Mul", x, number(g, 0.5, x.dtype))
    if approximate == "tanh":
        cube = g.op("Mul", g.op("Mul", x, x), x)
        inner = g.op("Add", x, g.op("Mul", cube, number(g, 0.044715, x.dtype)))
        bell = g.op("Tanh", g.op("Mul", inner, number(g, math.sqrt(2 / math.pi), x.dtype)))
    else:
        bell = g.op("Erf", g.op("Mul", x, number(g, math.sqrt(0.5), x.dtype)))
    return g.op("Mul", half, g.op("Add", bell, number(g, 1, x.dtype)))


@lower("silu")
def _silu(g: Any, s: Any, x: V) -> Any:
    return g.op("Mul", x, g.op("Sigmoid", x))


@lower("leaky_relu")
def _leaky_relu(g: Any, s: Any, x: V, negative_slope: float) -> Any:
    return g.op("LeakyRelu", x, alpha=float(negative_slope))


@lower("hardshrink")
def _hardshrink(g: Any, s: Any, x: V, lambd: float) -> Any:
    return g.op("Shrink", x, lambd=float(lambd), bias=0.0)


@lower("softshrink")
def _softshrink(g: Any, s: Any, x: V, lambd: float) -> Any:
    return g.op("Shrink", x, lambd=float(lambd), bias=float(lambd))


@lower("hardtanh")
def _hardtanh(g: Any, s: Any, x: V, min_val: Any, max_val: Any) -> Any:
    return g.op("Clip", x, number(g, min_val, x.dtype), number(g, max_val, x.dtype))


@lower("threshold")
def _threshold(g: Any, s: Any, x: V, threshold: Any, value: Any) -> Any:
    above = g.op("Greater", x, number(g, threshold, x.dtype))
    return g.op("Where", above, x, number(g, value, x.dtype))


@lower("glu")
def _glu(g: Any, s: Any, x: V, dim: int) -> Any:
    first, second = g.op("Split", x, axis=dim % x.rank, num_outputs=2, outputs=2)
    return g.op("Mul", first, g.op("Sigmoid", second))


@lower("softmax", "log_softmax")
def _softmax(g: Any, s: Any, x: V, dim: int) -> Any:
    kind = "Softmax" if s.name == "softmax" else "LogSoftmax"
    if not x.rank:  # of a single number
        return g.op("Sub", x, x) if kind == "LogSoftmax" else g.op("Exp", g.op("Sub", x, x))
    return g.op(kind, x, axis=dim)


@lower("scaled_dot_product_attention")
def _attention(
    g: Any, s: Any, q: V, k: V, v: V, mask: Any, scale: Any, causal: bool, noise: Any
) -> Any:
    if noise is not None:
        raise unsupported(s, "with dropout: export in eval mode, or with dropout_p=0")
    kind = q.dtype
    turned = list(range(k.rank))
    turned[-1], turned[-2] = turned[-2], turned[-1]
    scores = g.op(
        "MatMul", g.op("Mul", q, number(g, scale, kind)), g.op("Transpose", k, perm=turned)
    )
    hidden = number(g, -math.inf, kind)
    if causal:
        ones = g.expand(np.ones((), np.int64), (q.shape[-2], k.shape[-2]))
        seen = g.cast(g.op("Trilu", ones, upper=0), np.bool_)
        scores = g.op("Where", seen, scores, hidden)
    if mask is not None:
        boolean = mask.dtype.kind == "b"
        scores = g.op("Where", mask, scores, hidden) if boolean else g.op("Add", scores, mask)
    weights = g.op("Softmax", scores, axis=-1)
    if mask is not None:  # a fully masked row gives zeros
        weights = g.op("Where", g.op("IsNaN", weights), number(g, 0, kind), weights)
    return g.op("MatMul", weights, v), weights, None
