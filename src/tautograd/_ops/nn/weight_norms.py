"""Weights given by a direction and a length: `_weight_norm`, and the lengths, `norm_except_dim`."""

from __future__ import annotations

import contextlib
import operator
from typing import Any

import numpy as np

from ..._arrays.result_layout import in_c_order
from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import refuse
from ..declare.public import FUNCTIONS
from ..declare.record import Op
from ..declare.samples import Sample, T
from ..declare.undefined_dtypes import no_kernel


def _sum_others(x: Any, dim: int) -> Any:
    """The sum over all dimensions but one."""
    return np.sum(x, axis=tuple(d for d in range(x.ndim) if d != dim), keepdims=True)


def _norm(v: Any, dim: int) -> Any:
    return np.sqrt(_sum_others(v * v, dim))


def _along(slope: Any, v: Any, length: Any, dim: int) -> Any:
    """With n = |v| and w = v l / n: dw = (l / n) (dv - v (v·dv) / n²), a symmetric map."""
    n = _norm(v, dim)
    return length / n * (slope - v * (_sum_others(v * slope, dim) / (n * n)))


weight_norm_op = Op(
    "weight_norm",
    lambda v, length, dim: v * (length / _norm(v, dim)),
    ("v", "length"),
    layout=in_c_order,
    vjp={
        "v": lambda g, v, length, dim: _along(g, v, length, dim),
        "length": lambda g, v, dim: _sum_others(g * v, dim) / _norm(v, dim),
    },
    jvp={
        "v": lambda t, v, length, dim: _along(t, v, length, dim),
        "length": lambda t, v, dim: v * (t / _norm(v, dim)),
    },
    node="WeightNormInterfaceBackward0",
    public="_weight_norm",
    refuses=no_kernel("weight_norm_kernel", "cib"),
    samples=lambda: [
        Sample(T(3, 4), T(3, 1, seed=1)),
        Sample(T(3, 4), T(1, 4, seed=1), 1),
        Sample(T(2, 3, 2), T(2, 1, 1, seed=1), 0),
        Sample(T(2, 3, 2), T(1, 3, 1, seed=1), 1),
        Sample(T(2, 3), T(seed=1), -1),
    ],
)


def _number(dim: Any, name: str) -> int:
    """A dimension: a number, or a tensor that stands for one."""
    if isinstance(dim, (int, np.integer, Tensor)) and not isinstance(dim, bool):
        with contextlib.suppress(TypeError):
            return operator.index(dim)
    raise TypeError(f"{name}(): argument 'dim' (position 3) must be int, not {type(dim).__name__}")


def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """The direction `v` with the lengths `g`, one per place along `dim` (-1: one for all)."""
    dim = _number(dim, "_weight_norm")
    if dim == 0 or dim == v.ndim - 1:
        refuse(weight_norm_op, v._data.dtype)
        found: Tensor = apply(weight_norm_op, (v, g), {"dim": dim})
        return found
    v = v.contiguous()
    return v * (g / norm_except_dim(v, 2, dim))


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norms over all dimensions but one, with all of them kept (-1: of the whole tensor)."""
    dim = _number(dim, "norm_except_dim")
    rank = v.ndim
    if dim == -1:
        return v.norm(pow)
    if not rank:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if dim == 0:
        rows = v.contiguous().view(v.shape[0], -1)
        return rows.norm(pow, 1).view(v.shape[0], *(1,) * (rank - 1))
    if dim == rank - 1:
        columns = v.contiguous().view(-1, v.shape[-1])
        return columns.norm(pow, 0).view(*(1,) * (rank - 1), v.shape[-1])
    return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)


FUNCTIONS["_weight_norm"] = _weight_norm
FUNCTIONS["norm_except_dim"] = norm_except_dim
