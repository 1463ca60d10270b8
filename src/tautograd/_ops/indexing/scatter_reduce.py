"""`scatter_reduce`: values that meet at one place become their sum, product, mean or extreme."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._autograd.apply import apply
from ..._autograd.lifted import Lifted
from ..._autograd.modes import modes
from ..._tensor.tensor import Tensor, make
from ..declare.dims import wrap_dim
from ..declare.elementwise_calls import conj
from ..declare.in_place_twins import inplace_twin
from ..declare.public import attach, public
from ..declare.record import Op
from ..declare.samples import Sample, T
from .gathering import (
    as_vector,
    check_scatter,
    flat_index,
    gather_op,
    grown_to,
    scatter_add_op,
    scatter_value_op,
)
from .index_arguments import count, own_copy, require_tensors, spoken

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
    out = np.reshape(own_copy(start, index, src), (-1,))
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


# --- how much each element of a result counts ----------------------------------------------------

# Every reduction is, to first order, a weighted sum: out = Σ cx · x + Σ cs · src. The functions
# below
# give the weights (cx, cs) from which the gradient and the tangent follow alike.


def _weights(x: Any, index: Any, src: Any, out: Any, dim: int, reduce: str, own: bool) -> Any:
    rule = {"sum": _sum_weights, "mean": _mean_weights, "prod": _prod_weights}.get(
        reduce, _extreme_weights
    )
    for_x, for_src = rule(x, index, src, out, dim, own)
    # The tensor's own element does not take part where something was scattered.
    return for_x if own else scatter_value_op(for_x, index, dim=dim, value=0), for_src


def _sum_weights(x: Any, index: Any, src: Any, out: Any, dim: int, own: bool) -> Any:
    return np.ones_like(x), np.ones_like(src)


def _mean_weights(x: Any, index: Any, src: Any, out: Any, dim: int, own: bool) -> Any:
    share = 1 / _times(np.zeros_like(x), index, dim, own)
    return share, gather_op(share, index, dim=dim)


def _extreme_weights(x: Any, index: Any, src: Any, out: Any, dim: int, own: bool) -> Any:
    """Elements equal to the result share it evenly."""
    mine = np.astype(x == out, x.dtype)
    theirs = np.astype(src == gather_op(out, index, dim=dim), x.dtype)
    counted = scatter_add_op(mine, index, theirs, dim=dim)
    return mine / counted, theirs / gather_op(counted, index, dim=dim)


def _prod_weights(x: Any, index: Any, src: Any, out: Any, dim: int, own: bool) -> Any:
    """d(prod)/d(factor) is the product of the others: the result over the factor if not 0."""
    factors = {"dim": dim, "reduce": "prod", "include_self": own}
    for_x = np.ones_like(x)
    if own:
        x_ones = np.where(x == 0, for_x, x)
        for_x = scatter_reduce_op(x_ones, index, src, **factors) / x_ones
    zero = src == 0
    zeros_there = scatter_add_op(np.zeros_like(x), index, np.astype(zero, x.dtype), dim=dim)
    only = zero & (gather_op(zeros_there, index, dim=dim) == 1)
    without = scatter_reduce_op(x, index, np.where(only, np.ones_like(src), src), **factors)
    safe = np.where(zero, np.ones_like(src), src)
    picked = gather_op(without, index, dim=dim), gather_op(out, index, dim=dim) / safe
    for_src = np.where(only, *picked)
    if isinstance(zeros_there, Lifted) and np.any(zeros_there.tensor._data > 1):
        # As it is written here, the product does not move as it should where two are zero.
        if modes.forward_level:
            _refuse_twice()
        if for_src.tensor.requires_grad:
            for_src.tensor.register_hook(_refuse_twice)
    return for_x, for_src


def _refuse_twice(gradient: Any = None) -> None:
    raise RuntimeError(
        "scatter_reduce(): Double backward is unsupported for src when >1 zeros in src are scattered "
        "to the same position in self"
    )


def _gradients(
    g: Any, x: Any, index: Any, src: Any, out: Any, dim: int, reduce: str, include_self: bool
) -> tuple[Any, Any, Any]:
    if count(index.shape) == 0:
        return g, None, np.zeros_like(src)
    covered = _covered(src, index)
    for_x, for_src = _weights(x, index, covered, out, dim, reduce, include_self)
    gathered = gather_op(g, index, dim=dim) * conj(for_src)
    return g * conj(for_x), None, grown_to(gathered, src.shape)


def _tangent(
    t: Any, x: Any, index: Any, src: Any, out: Any, dim: int, reduce: str, include_self: bool
) -> Any:
    if count(index.shape) == 0:
        return t[0]
    covered = _covered(src, index)
    for_x, for_src = _weights(x, index, covered, out, dim, reduce, include_self)
    return scatter_add_op(t[0] * for_x, index, _covered(t[2], index) * for_src, dim=dim)


def _covered(src: Any, index: Any) -> Any:
    """The part of the source that the index uses."""
    return src if src.shape == index.shape else src[tuple([slice(0, n) for n in index.shape])]


def _samples() -> list[Sample]:
    index: dict[str, Any] = {"low": 0, "dtype": "int64"}
    found = []
    for reduce in _STEPS:
        # PyTorch's in-place product has a wrong gradient for complex numbers (its other form refuses
        # them): products are compared in real dtypes. Where the tensor does not take part PyTorch
        # divides it out again, which leaves residues of rounding in second gradients that are 0;
        # ones and twos leave none.
        prod = reduce == "prod"
        fixed: dict[str, Any] = {"dtype": "float64"} if prod else {}
        exact: dict[str, Any] = {"high": 3.0, "kind": "ties", **fixed} if prod else {}
        x, some = T(3, 4, low=0.5, **fixed), T(5, 4, low=0.5, **fixed)
        y, few = T(3, 4, low=0.5, **exact), T(3, 2, low=0.5, **exact)
        found += [
            Sample(x, 0, T(5, 4, high=3, **index), some, reduce),
            Sample(y, -1, T(3, 2, high=4, **index), few, reduce, include_self=False),
        ]
    real: list[dict[str, Any]] = [{"dtype": d} for d in ("float64", "float32", "bfloat16")]
    any_dtype: list[dict[str, Any]] = [{}]
    return [
        *found,
        Sample(T(), 0, T(high=1, **index), T(), "sum"),
        Sample(T(2, 3, grad=False), 1, T(2, 0, high=3, **index), T(2, 3, grad=False), "amax"),
        Sample(T(2, 3, grad=False), 1, T(2, 2, high=3, **index), T(3, 2, grad=False), "prod"),
        Sample(
            T(3, 4, low=0.5, layout="transposed", grad=False),
            1,
            T(3, 6, high=4, **index),
            T(3, 6, low=0.5, grad=False),
            "prod",
        ),
        *(
            Sample(
                T(3, 4, kind="ties", low=low, **some),
                0,
                T(rows, 4, high=3, seed=seed, **index),
                T(rows, 4, kind="ties", low=low, seed=seed, **some),
                reduce,
                include_self=own,
            )
            for reduce in _STEPS
            for own in (True, False)
            for rows, low, seed in ((5, -2.0, 0), (9, 0.0, 1), (2, -1.0, 2))
            for some in (real if reduce == "prod" else any_dtype)
        ),
    ]


scatter_reduce_op = Op(
    "scatter_reduce",
    _scatter_reduce,
    ("x", "index", "src"),
    vjp=_gradients,
    jvp=_tangent,
    samples=_samples,
    opmath=False,
)


@public()
def scatter_reduce(
    input: Any, dim: Any, index: Any, src: Any, reduce: Any, *, include_self: bool = True
) -> Tensor:
    """Reduce the values of `src` that `index` sends to one place: sum, prod, mean, amax or amin."""
    result = _reduced(input, dim, index, src, reduce, include_self=include_self)
    if input._data.dtype.kind == "c" and result.requires_grad:
        raise RuntimeError(
            "scatter_reduce does not support automatic differentiation for outputs with complex "
            "dtype."
        )
    return result


def _reduced(
    input: Any, dim: Any, index: Any, src: Any, reduce: Any, *, include_self: bool = True
) -> Tensor:
    require_tensors("scatter_reduce", input=input)
    require_tensors("scatter_reduce", index=index, src=src)
    dim = wrap_dim(dim, input._data.ndim, "scatter_reduce")
    if reduce not in _STEPS:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    check_scatter("scatter_reduce", input, dim, index, src)
    if count(index._data.shape):
        _check_dtype(input, reduce)
    parameters = {"dim": dim, "reduce": reduce, "include_self": bool(include_self)}
    result: Tensor = apply(scatter_reduce_op, (input, index, src), parameters)
    return result


attach("scatter_reduce_", inplace_twin("scatter_reduce", _reduced))


def _check_dtype(input: Tensor, reduce: str) -> None:
    kind = input._data.dtype.kind
    if (kind == "c" and reduce in ("amax", "amin")) or (kind == "b" and reduce == "mean"):
        raise NotImplementedError(
            f"\"scatter_gather_tensor_cpu_reduce_{reduce}\" not implemented for '{spoken(input)}'"
        )


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
