"""Matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import refused
from ..graph import V
from ..lowering import lower, number


@lower("mm")
def _mm(g: Any, s: Any, x: V, y: V, columns: Any = None) -> Any:
    return g.op("MatMul", x, y)


@lower("bmm", "mv", "dot", "vdot")
def _product(g: Any, s: Any, x: V, y: V) -> Any:
    return g.op("MatMul", x, y)


@lower("addmm")
def _addmm(
    g: Any, s: Any, input: V, mat1: V, mat2: V, beta: Any, alpha: Any, columns: Any = None
) -> Any:
    if s.out.dtype.kind == "f" and 0 not in (*mat1.shape, *mat2.shape):
        return g.op("Gemm", mat1, mat2, input, alpha=float(alpha), beta=float(beta))
    return _sum(g, s, input, g.op("MatMul", mat1, mat2), beta, alpha)


def _sum(g: Any, s: Any, input: V, product: Any, beta: Any, alpha: Any) -> Any:
    if alpha != 1:
        product = g.op("Mul", product, number(g, alpha, s.out.dtype))
    if beta == 0:
        return g.expand(product, s.out.shape)
    if beta != 1:
        input = g.op("Mul", input, number(g, beta, s.out.dtype))
    return g.op("Add", input, product)


@lower("addmv")
def _addmv(g: Any, s: Any, input: V, mat: V, vec: V, beta: Any, alpha: Any) -> Any:
    return _sum(g, s, input, g.op("MatMul", mat, vec), beta, alpha)


@lower("baddbmm")
def _baddbmm(g: Any, s: Any, input: V, batch1: V, batch2: V, beta: Any, alpha: Any) -> Any:
    return _sum(g, s, input, g.op("MatMul", batch1, batch2), beta, alpha)


@lower("addbmm")
def _addbmm(g: Any, s: Any, input: V, batch1: V, batch2: V, beta: Any, alpha: Any) -> Any:
    product = g.op("ReduceSum", g.op("MatMul", batch1, batch2), g.axes([0]), keepdims=0)
    return _sum(g, s, input, product, beta, alpha)


@lower("addr")
def _addr(g: Any, s: Any, input: V, vec1: V, vec2: V, beta: Any, alpha: Any) -> Any:
    column, row = g.op("Unsqueeze", vec1, g.axes([1])), g.op("Unsqueeze", vec2, g.axes([0]))
    return _sum(g, s, input, g.op("Mul", column, row), beta, alpha)


@lower("trilinear")
def _trilinear(g: Any, s: Any, x: V, w: V, y: V) -> Any:
    return g.op("Einsum", x, w, y, equation="...i,oij,...j->...o")


@lower("linalg_det")
def _det(g: Any, s: Any, x: V) -> Any:
    return g.op("Det", x)


@lower("linalg_cross")
def _cross(g: Any, s: Any, x: V, y: V, dim: int) -> Any:
    axis = dim % s.out.rank
    turn = [g.constant(np.array(p)) for p in ((1, 2, 0), (2, 0, 1))]
    x1, x2 = (g.op("Gather", g.expand(x, s.out.shape), p, axis=axis) for p in turn)
    y1, y2 = (g.op("Gather", g.expand(y, s.out.shape), p, axis=axis) for p in turn)
    return g.op("Sub", g.op("Mul", x1, y2), g.op("Mul", x2, y1))


@lower("cdist", "_euclidean_dist")
def _cdist(g: Any, s: Any, x: V, y: V, p: float = 2.0) -> Any:
    apart = g.op(
        "Sub",
        g.op("Unsqueeze", x, g.axes([x.rank - 1])),
        g.op("Unsqueeze", y, g.axes([y.rank - 2])),
    )
    if x.shape[-1] == 0:
        return g.expand(number(g, 0, s.out.dtype), s.out.shape)
    return vector_norm(g, apart, p, [-1], 0, s.out.dtype)


@lower("dist")
def _dist(g: Any, s: Any, x: V, y: V, p: float) -> Any:
    return vector_norm(g, g.op("Sub", x, y), p, None, 0, s.out.dtype)


def vector_norm(g: Any, x: Any, order: float, dims: Any, keepdims: int, kind: Any) -> Any:
    """The vector norm along dimensions; None for all."""
    axes = None if dims is None else g.axes(dims)
    if order == 2:
        return g.op("ReduceL2", x, axes, keepdims=keepdims)
    if order == 1:
        return g.op("ReduceL1", x, axes, keepdims=keepdims)
    if order != order:
        raise refused("a norm of the order NaN cannot be exported", g.site)
    size = g.op("Abs", x)
    if order == float("inf"):
        return g.op("ReduceMax", size, axes, keepdims=keepdims)
    if order == float("-inf"):
        return g.op("ReduceMin", size, axes, keepdims=keepdims)
    if order == 0:
        there = g.cast(g.op("Greater", size, number(g, 0, kind)), kind)
        return g.op("ReduceSum", there, axes, keepdims=keepdims)
    total = g.op("ReduceSum", g.op("Pow", size, number(g, order, kind)), axes, keepdims=keepdims)
    return g.op("Pow", total, number(g, 1 / order, kind))
