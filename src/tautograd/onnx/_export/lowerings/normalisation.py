"""Normalisation layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import V
from ..lowering import lower, number
from .reductions import deviations


@lower("layer_norm")
def _layer_norm(g: Any, s: Any, x: V, weight: Any, bias: Any, rank: int, eps: float) -> Any:
    if weight is None:
        weight = g.expand(number(g, 1, x.dtype), x.shape[x.rank - rank :])
    return g.op("LayerNormalization", x, weight, bias, axis=-rank, epsilon=float(eps)), None, None


@lower("rms_norm")
def _rms_norm(g: Any, s: Any, x: V, weight: Any, rank: int, eps: float) -> Any:
    dims = list(range(x.rank - rank, x.rank))
    square = g.op("ReduceMean", g.op("Mul", x, x), g.axes(dims), keepdims=1)
    out = g.op("Div", x, g.op("Sqrt", g.op("Add", square, number(g, eps, x.dtype))))
    return out if weight is None else g.op("Mul", out, weight)


@lower("batch_norm_eval")
def _batch_norm_eval(
    g: Any, s: Any, x: V, weight: Any, bias: Any, mean: V, variance: V, eps: float
) -> Any:
    n = mean.shape
    weight = g.constant(np.ones(n, mean.dtype)) if weight is None else weight
    bias = g.constant(np.zeros(n, mean.dtype)) if bias is None else bias
    return g.op("BatchNormalization", x, weight, bias, mean, variance, epsilon=float(eps))


@lower("batch_norm")
def _batch_norm(g: Any, s: Any, x: V, weight: Any, bias: Any, eps: float) -> Any:
    """Normalise by the batch's own statistics."""
    others = [d for d in range(x.rank) if d != 1]
    variance, mean = deviations(g, x, others, 0, True)
    out = g.op(
        "Div", g.op("Sub", x, mean), g.op("Sqrt", g.op("Add", variance, number(g, eps, x.dtype)))
    )
    return _affine(g, out, weight, bias, x.rank - 2), None, None, None


def _affine(g: Any, x: Any, weight: Any, bias: Any, after: int) -> Any:
    """Scale and shift each channel, `after` dimensions from the end."""
    dims = g.axes(range(1, after + 1))
    for kind, given in (("Mul", weight), ("Add", bias)):
        if given is not None:
            x = g.op(kind, x, g.op("Unsqueeze", given, dims) if after else given)
    return x


@lower("group_norm")
def _group_norm(g: Any, s: Any, x: V, weight: Any, bias: Any, groups: int, eps: float) -> Any:
    n, _, *rest = x.shape
    parts = g.reshape(x, (n, groups, -1), given=x.shape)
    ones, zeros = np.ones(groups, x.dtype), np.zeros(groups, x.dtype)
    flat = g.op("InstanceNormalization", parts, ones, zeros, epsilon=float(eps))
    out = g.op("Reshape", flat, g.op("Shape", x))
    return _affine(g, out, weight, bias, len(rest)), None, None


@lower("weight_norm")
def _weight_norm(g: Any, s: Any, v: V, length: V, dim: Any) -> Any:
    if dim is None or dim == -1:
        norm = g.op("ReduceL2", v, keepdims=0)
    else:
        norm = g.op(
            "ReduceL2", v, g.axes(d for d in range(v.rank) if d != dim % v.rank), keepdims=1
        )
    return g.op("Mul", v, g.op("Div", length, norm))
