"""`scatter_reduce`: many values at one place become their sum, product, mean, largest or smallest."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._autograd.apply import apply
from .._tensor.tensor import Tensor, make
from .dims import wrap_dim
from .gathering import (
    as_vector,
    check_scatter,
    flat_index,
    gather_op,
    scatter_add_op,
    scatter_value_op,
)
from .index_arguments import count, require_tensors
from .public import public
from .record import Op
from .samples import Sample, T

_STEPS = {
    "sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum,
}  # fmt: skip


def _neutral(reduce: str, dtype: Any) -> Any:
    """What a place starts from when the tensor itself does not take part."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if reduce == "amax" else limits.max
    return -np.inf if reduce == "amax" else np.inf


def _scatter_reduce(x: Any, index: Any, src: Any, dim: int, reduce: str, include_self: bool) -> Any:
    if count(index.shape) == 0:
        return np.copy(x, order="C")
    along = as_vector(index)
    values = np.reshape(as_vector(src)[tuple([slice(0, n) for n in along.shape])], (-1,))
    positions = flat_index(along, x.shape or (1,), dim)
    start = (
        x if include_self else scatter_value_op(x, index, dim=dim, value=_neutral(reduce, x.dtype))
    )
    out = np.reshape(np.copy(start, order="C"), (-1,))
    _STEPS[reduce].at(out, positions, values)
    out = np.reshape(out, x.shape)
    if reduce == "mean":
        times = _times(
            np.astype(x, np.int64) if x.dtype.kind in "iub" else x, index, dim, include_self
        )
        if x.dtype.kind in "iub":
            return np.astype(np.floor_divide(np.astype(out, np.int64), times), x.dtype)
        return out / times
    return out


def _times(x: Any, index: Any, dim: int, include_self: bool) -> Any:
    """How many values meet at each place, at least 1."""
    base = np.ones_like(x) if include_self else np.zeros_like(x)
    found = scatter_add_op(base, index, np.ones_like(x, shape=index.shape), dim=dim)
    return np.where(found == 0, np.ones_like(found), found)


def _gradients(
    g: Any,
    x: Any,
    index: Any,
    src: Any,
    out: Any,
    dim: int,
    reduce: str,
    include_self: bool,
    needs: Any,
) -> tuple[Any, Any, Any]:
    """Both gradients: each reduction hands g to the tensor and to the source in its own way."""
    if count(index.shape) == 0:
        return g, None, (src * 0 if needs[2] else None)
    rule = {"sum": _sum, "mean": _mean, "prod": _prod}.get(reduce, _extreme)
    for_x, for_src = rule(g, x, index, src, out, dim, include_self, needs)
    if not include_self:
        # The tensor's own element does not take part where something was scattered.
        for_x = scatter_value_op(for_x, index, dim=dim, value=0)
    return for_x, None, for_src


def _sum(
    g: Any, x: Any, index: Any, src: Any, out: Any, dim: int, include_self: bool, needs: Any
) -> Any:
    return g, gather_op(g, index, dim=dim)


def _mean(
    g: Any, x: Any, index: Any, src: Any, out: Any, dim: int, include_self: bool, needs: Any
) -> Any:
    share = g / _times(g * 0, index, dim, include_self)
    return share, gather_op(share, index, dim=dim)


def _extreme(
    g: Any, x: Any, index: Any, src: Any, out: Any, dim: int, include_self: bool, needs: Any
) -> Any:
    """Elements equal to the result share its gradient evenly."""
    mine = np.astype(x == out, g.dtype)
    theirs = np.astype(src == gather_op(out, index, dim=dim), g.dtype)
    share = g / scatter_add_op(mine, index, theirs, dim=dim)
    return mine * share, theirs * gather_op(share, index, dim=dim)


def _prod(
    g: Any, x: Any, index: Any, src: Any, out: Any, dim: int, include_self: bool, needs: Any
) -> Any:
    """d(prod)/d(factor) is the product of the others: the result over the factor where that is not 0."""
    x_ones = np.where(x == 0, np.ones_like(x), x)
    others = scatter_reduce_op(
        x_ones, index, src, dim=dim, reduce="prod", include_self=include_self
    )
    for_x = g * others / x_ones
    zero = src == 0
    zeros_there = gather_op(
        scatter_add_op(np.zeros_like(g), index, np.astype(zero, g.dtype), dim=dim), index, dim=dim
    )
    only = zero & (zeros_there == 1)
    without = scatter_reduce_op(
        x,
        index,
        np.where(only, np.ones_like(src), src),
        dim=dim,
        reduce="prod",
        include_self=include_self,
    )
    safe = np.where(zero, np.ones_like(src), src)
    for_src = np.where(
        only, gather_op(g * without, index, dim=dim), gather_op(g * out, index, dim=dim) / safe
    )
    return for_x, for_src


def _samples() -> list[Sample]:
    index = dict(low=0, dtype="int64")
    found = []
    for reduce in _STEPS:
        found += [
            Sample(T(3, 4, low=0.5), 0, T(5, 4, high=3, **index), T(5, 4, low=0.5), reduce),
            Sample(
                T(3, 4, low=0.5),
                -1,
                T(3, 2, high=4, **index),
                T(3, 2, low=0.5),
                reduce,
                include_self=False,
            ),
        ]
    return [
        *found,
        Sample(T(), 0, T(high=1, **index), T(), "sum"),
        Sample(T(2, 3), 1, T(2, 0, high=3, **index), T(2, 3, grad=False), "amax"),
        Sample(
            T(3, 4, low=0.5, layout="transposed"),
            1,
            T(3, 6, high=4, **index),
            T(3, 6, low=0.5),
            "prod",
        ),
        Sample(T(3, 4, kind="ties"), 0, T(5, 4, high=3, **index), T(5, 4, kind="ties"), "amax"),
    ]


scatter_reduce_op = Op(
    "scatter_reduce",
    _scatter_reduce,
    ("x", "index", "src"),
    vjp=_gradients,
    samples=_samples,
    opmath=False,
)


@public(inplace=True)
def scatter_reduce(
    input: Any, dim: Any, index: Any, src: Any, reduce: Any, *, include_self: bool = True
) -> Tensor:
    """Reduce the values of `src` that `index` sends to one place: sum, prod, mean, amax or amin."""
    require_tensors("scatter_reduce", input=input)
    require_tensors("scatter_reduce", index=index, src=src)
    dim = wrap_dim(dim, input._data.ndim, "scatter_reduce")
    if reduce not in _STEPS:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    check_scatter("scatter_reduce", input, dim, index, src)
    parameters = {"dim": dim, "reduce": reduce, "include_self": bool(include_self)}
    result: Tensor = apply(scatter_reduce_op, (input, index, src), parameters)
    return result


def scatter_with(input: Tensor, dim: int, index: Tensor, src: Any, reduce: str) -> Tensor:
    """`scatter(…, reduce=)`, the older form; PyTorch gives it no gradient, and neither do we."""
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    check_scatter("scatter", input, dim, index, src)
    source = (
        src
        if isinstance(src, Tensor)
        else make(np.full_like(input._data, src, shape=index._data.shape))
    )
    step = "sum" if reduce == "add" else "prod"
    result: Tensor = apply(
        scatter_with_op, (input, index, source), {"dim": dim, "reduce": step, "include_self": True}
    )
    return result


def _refuse(g: Any) -> Any:
    raise RuntimeError("derivative for aten::scatter is not implemented")


scatter_with_op = Op(
    "scatter_with",
    _scatter_reduce,
    ("x", "index", "src"),
    vjp={"x": _refuse, "src": _refuse},
    node="NotImplemented",
    opmath=False,
    public="scatter",
    samples=lambda: [
        Sample(
            T(3, 4, grad=False),
            0,
            T(2, 4, low=0, high=3, dtype="int64"),
            T(2, 4, grad=False),
            reduce="add",
        ),
        Sample(T(3, 4, grad=False), 1, T(2, 4, low=0, high=3, dtype="int64"), 2, reduce="multiply"),
    ],
)
