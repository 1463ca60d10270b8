"""Reductions and running sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import V
from ..lowering import dims_of, lower, number
from ..sizes import Size, product
from .comparing import truth
from .linalg import vector_norm


def reduced(g: Any, kind: str, x: Any, dims: Any, keepdim: Any) -> Any:
    if isinstance(x, V) and (found := _of_nothing(g, kind, x, dims, keepdim)) is not None:
        return found
    return g.op(kind, x, None if dims is None else g.axes(dims), keepdims=int(bool(keepdim)))


_OF_NOTHING = {"ReduceSum": 0, "ReduceProd": 1, "ReduceMean": np.nan, "ReduceLogSumExp": -np.inf}


def _of_nothing(g: Any, kind: str, x: V, dims: Any, keepdim: Any) -> Any:
    """The result of reducing no elements, on which runtimes disagree."""
    over = range(x.rank) if dims is None else dims
    if kind not in _OF_NOTHING or not any(x.shape[d] == 0 for d in over):
        return None
    shape = [1 if d in over else n for d, n in enumerate(x.shape) if keepdim or d not in over]
    return g.expand(number(g, _OF_NOTHING[kind], x.dtype), shape)


def _as(g: Any, x: V, kind: Any) -> Any:
    return x if x.dtype == kind else g.cast(x, kind)


@lower("sum", "sum_dim", "nansum", "prod", "prod_dim", "mean", "mean_dim")
def _summed(g: Any, s: Any, x: V, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    given: Any = _as(g, x, s.out.dtype)
    dims = dims_of(dim, x.rank)
    if dims == [] and s.name in ("sum_dim", "nansum", "mean_dim"):
        dims = None
    if s.name == "nansum":
        given = g.op("Where", g.op("IsNaN", given), number(g, 0, s.out.dtype), given)
    given = V.of(given, x.shape, s.out.dtype)
    kind = {"prod": "ReduceProd", "mean": "ReduceMean"}.get(
        s.name.removesuffix("_dim"), "ReduceSum"
    )
    return reduced(g, kind, given, dims, keepdim)


@lower("logsumexp")
def _logsumexp(g: Any, s: Any, x: V, dim: Any, keepdim: bool) -> Any:
    if not x.rank:
        return g.op("Identity", x)
    return reduced(g, "ReduceLogSumExp", x, dims_of(dim, x.rank), keepdim)


@lower("amax", "amin", "max", "min")
def _extreme(g: Any, s: Any, x: V, dim: Any = None, keepdim: bool = False) -> Any:
    return extreme(
        g, x, "Max" if s.name.endswith("max") else "Min", dims_of(dim or None, x.rank), keepdim
    )


def extreme(g: Any, x: V, kind: str, dims: Any, keepdim: bool) -> Any:
    """The largest or smallest; ONNX supports few dtypes for it, and not booleans before 20."""
    if x.dtype.kind == "b":
        return g.cast(reduced(g, f"Reduce{kind}", g.cast(x, np.int32), dims, keepdim), np.bool_)
    return reduced(g, f"Reduce{kind}", x, dims, keepdim)


@lower("max_dim", "min_dim")
def _extreme_with_place(g: Any, s: Any, x: V, dim: int, keepdim: bool) -> Any:
    kind = s.name[:3].capitalize()
    if not x.rank:
        return g.op("Identity", x), np.array(0)
    place = None
    if 1 in s.used:
        place = g.op(f"Arg{kind}", _ordered(g, x), axis=dim % x.rank, keepdims=int(keepdim))
    return extreme(g, x, kind, [dim % x.rank], keepdim), place


def _ordered(g: Any, x: V) -> Any:
    return g.cast(x, np.int32) if x.dtype.kind == "b" else x


@lower("argmax", "argmin")
def _place(g: Any, s: Any, x: V, dim: Any, keepdim: bool) -> Any:
    kind = s.name.capitalize().replace("Argm", "ArgM")
    given = _ordered(g, x)
    if dim is None or not x.rank:
        flat = g.op("Reshape", given, np.array([-1]))
        return g.reshape(g.op(kind, flat, axis=0, keepdims=0), s.out.shape, given=())
    return g.op(kind, given, axis=dim % x.rank, keepdims=int(keepdim))


@lower("aminmax")
def _aminmax(g: Any, s: Any, x: V, dim: Any, keepdim: bool) -> Any:
    dims = dims_of(dim, x.rank)
    return tuple(extreme(g, x, kind, dims, keepdim) for kind in ("Min", "Max"))


@lower("any", "all")
def _any(g: Any, s: Any, x: V, dim: Any = None, keepdim: bool = False) -> Any:
    dims = dims_of(dim, x.rank)
    if dims == []:  # over no dimension
        return g.cast(truth(g, x), s.out.dtype)
    wanted = truth(g, x) if s.name == "any" else g.op("Not", truth(g, x))
    count = reduced(
        g, "ReduceSum", V.of(g.cast(wanted, np.int64), x.shape, np.int64), dims, keepdim
    )
    there = g.op("Greater", count, number(g, 0, np.int64))
    return g.cast(there if s.name == "any" else g.op("Not", there), s.out.dtype)


@lower("count_nonzero")
def _count_nonzero(g: Any, s: Any, x: V, dim: Any) -> Any:
    return reduced(
        g, "ReduceSum", g.cast(truth(g, x), np.int64), dims_of(dim, x.rank) or None, False
    )


@lower("linalg_vector_norm")
def _norm(g: Any, s: Any, x: V, ord: Any, dim: Any, keepdim: bool) -> Any:
    return vector_norm(g, x, float(ord), dims_of(dim, x.rank) or None, int(keepdim), s.out.dtype)


def deviations(g: Any, x: V, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    """The variance and the mean."""
    dims = dims_of(dim, x.rank) or None
    centre = reduced(g, "ReduceMean", x, dims, True)
    off = g.op("Sub", x, centre)
    total = reduced(g, "ReduceSum", g.op("Mul", off, off), dims, keepdim)
    count = product(x.shape[d] for d in (dims if dims is not None else range(x.rank)))
    left = count - correction
    left = left if isinstance(left, Size) else max(0, left)  # no elements give NaN, by 0 / 0
    variance = g.op("Div", total, number(g, left, x.dtype))
    mean = centre if keepdim else reduced(g, "ReduceMean", x, dims, False)
    return variance, mean


@lower("var", "std", "var_mean", "std_mean")
def _var(g: Any, s: Any, x: V, dim: Any, correction: Any, keepdim: bool) -> Any:
    variance, mean = deviations(g, x, dim, correction, keepdim)
    found = g.op("Sqrt", variance) if s.name.startswith("std") else variance
    return (found, mean) if s.name.endswith("_mean") else found


@lower("cumprod", "logcumsumexp", "cummax", "cummin")
def _running(g: Any, s: Any, x: V, dim: int, dtype: Any = None) -> Any:
    """For each position, a reduction of the elements up to it: rows of a triangle."""
    kind = {"cumprod": "Prod", "logcumsumexp": "LogSumExp", "cummax": "Max", "cummin": "Min"}[
        s.name
    ]
    places = s.name in ("cummax", "cummin")
    given = _as(g, x, s.out.dtype)
    if not x.rank:
        return (g.op("Identity", given), np.array(0)) if places else g.op("Identity", given)
    dim %= x.rank
    n = x.shape[dim]
    square = g.op("Trilu", g.expand(np.ones((), np.int64), (n, n)), upper=0)
    seen = g.reshape(g.cast(square, np.bool_), (n, n, *(1,) * (x.rank - dim - 1)), given=())
    info = np.finfo if x.dtype.kind == "f" else np.iinfo
    blank = {"Prod": 1, "LogSumExp": -np.inf}.get(kind)
    if blank is None:
        low, high = (
            (-np.inf, np.inf) if x.dtype.kind == "f" else (info(x.dtype).min, info(x.dtype).max)
        )
        blank = low if kind == "Max" else high
    rows = g.op(
        "Where", seen, g.op("Unsqueeze", given, g.axes([dim])), number(g, blank, s.out.dtype)
    )
    found = g.op(f"Reduce{kind}", rows, g.axes([dim + 1]), keepdims=0)
    if not places:
        return found
    # The last of the largest, as in PyTorch.
    return found, g.op(f"Arg{kind}", rows, axis=dim + 1, keepdims=0, select_last_index=1)


@lower("cumsum")
def _cumsum(g: Any, s: Any, x: V, dim: int, dtype: Any) -> Any:
    given = _as(g, x, s.out.dtype)
    if not x.rank:
        return g.op("Identity", given)
    return g.op("CumSum", given, np.array(dim % x.rank))
