"""Products over dimensions. Their gradients divide by nothing, so that zeros need no care."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.dtypes import from_numpy_dtype
from ..._arrays.sums import contiguous
from ..._autograd.lifted import counterpart
from ..._tensor.tensor import Tensor
from ..declare.dims import no_signature
from ..declare.elementwise_calls import conj, require_tensor
from ..declare.out_rules import accumulates
from ..declare.public import public
from ..declare.record import Op
from ..declare.samples import Sample, T
from .reducing import axis_of, integer_result, reduce_with, restore
from .scans import exclusive_product
from .sums_and_means import over_all

_EVERYTHING: Any = object()  # no dimension is given: None is none


def others(x: Any, dim: int) -> Any:
    """For each element, the product of all others along `dim`; zeros need no special care."""
    if not x.ndim:
        return np.ones_like(x)
    before = exclusive_product(x, dim)
    after = np.flip(exclusive_product(np.flip(x, dim), dim), dim)
    return before * after


def _cast(x: Any, like: Any) -> Any:
    """The input in the dtype of its product: `dtype=` casts it before anything is multiplied."""
    return x if x.dtype == like.dtype else np.astype(x, like.dtype)


def _others_of_all(x: Any) -> Any:
    return np.reshape(others(np.reshape(x, (-1,)), 0), x.shape)


prod_op = Op(
    "prod",
    lambda x, dtype: np.prod(x, dtype=dtype),
    ("x",),
    vjp={"x": lambda g, x: g * conj(_others_of_all(_cast(x, g)))},
    jvp={"x": lambda t, x: np.sum(t * _others_of_all(_cast(x, t)))},
    samples=lambda: [
        *over_all(),
        Sample(T(0, 2)),
        Sample(T(3, 2, kind="zeros")),
        Sample(T(5, kind="ties")),
        Sample(T(3, dtype="float32"), dtype="float64"),
    ],
)
prod_dim_op = Op(
    "prod_dim",
    lambda x, dim, keepdim, dtype: contiguous(
        np.prod(x, axis=dim if x.ndim else None, keepdims=keepdim, dtype=dtype)
    ),
    ("x",),
    vjp={
        "x": lambda g, x, dim, keepdim: (
            restore(g, x.shape, (dim,) if x.ndim else None, keepdim)
            * conj(others(_cast(x, g), dim))
        )
    },
    jvp={
        "x": lambda t, x, dim, keepdim: np.sum(
            t * others(_cast(x, t), dim), axis=dim if x.ndim else None, keepdims=keepdim
        )
    },
    node="ProdBackward1",
    public="prod",
    samples=lambda: [
        Sample(T(3, 4), 1),
        Sample(T(2, 3, 4), -2, True),
        Sample(T(3, 4, layout="transposed"), 0),
        Sample(T(), 0),
        Sample(T(2, 0, 3), 1),
        Sample(T(4, 3, kind="ties"), 0),
        Sample(T(4, 3, kind="zeros"), 0),
        Sample(T(2, 3, dtype="float32"), 1, dtype="float64"),
    ],
)


@public(out=accumulates)
def prod(input: Any, dim: Any = _EVERYTHING, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The product along `dim`, or of everything; integers and bools multiply in int64."""
    if not isinstance(input, Tensor):
        require_tensor("prod", input)
    parameters = {"dtype": integer_result(input, dtype)}
    if dim is _EVERYTHING:
        if keepdim is not False:
            raise no_signature("prod", keepdim)
        return reduce_with(prod_op, "prod", input, parameters, dtype)
    parameters |= {"dim": axis_of(dim, input._data.ndim, "prod"), "keepdim": keepdim}
    return reduce_with(prod_dim_op, "prod", input, parameters, dtype)


@counterpart(np.prod)
def _prod(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    kind = None if dtype is None else from_numpy_dtype(dtype)
    return prod(x, dtype=kind) if axis is None else prod(x, axis, keepdims, dtype=kind)
