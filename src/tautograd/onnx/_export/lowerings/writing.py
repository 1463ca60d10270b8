"""Tensors with some elements replaced: scatters, and in-place writes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import V
from ..lowering import lower, number, unsupported
from ..sizes import Size
from .elementwise import floored
from .indexing import _coordinates


def _like(g: Any, x: Any, kind: Any) -> Any:
    return x if not isinstance(x, V) or x.dtype == kind else V.of(g.cast(x, kind), x.shape, kind)


@lower("scatter")
def _scatter(g: Any, s: Any, x: V, index: V, src: V, dim: int) -> Any:
    return _elements(g, x, index, _cut(g, src, index), dim)


def _cut(g: Any, src: V, index: V) -> Any:
    """The part of the source that the index covers."""
    for d, (n, m) in enumerate(zip(src.shape, index.shape, strict=True)):
        if n != m:
            cut = g.op("Slice", src, np.array([0]), g.ints([m]), g.axes([d]))
            shape = (*src.shape[:d], m, *src.shape[d + 1 :])
            src = V.of(cut, shape, src.dtype)
    return src


def _elements(g: Any, x: V, index: V, src: Any, dim: int, **reduction: Any) -> Any:
    if not x.rank:
        one = np.array([1])
        parts = [g.op("Reshape", a, one) for a in (x, index, src)]
        made = g.op("ScatterElements", *parts, axis=0, **reduction)
        return g.op("Reshape", made, np.array([], np.int64))
    if not index.rank:
        index, src = (g.op("Reshape", a, np.array([1])) for a in (index, src))
    return g.op("ScatterElements", x, index, src, axis=dim, **reduction)


@lower("scatter_value")
def _scatter_value(g: Any, s: Any, x: V, index: V, dim: int, value: Any) -> Any:
    filled = g.op("Expand", number(g, value, x.dtype), g.ints(index.shape))
    return _elements(g, x, index, filled, dim)


@lower("scatter_add")
def _scatter_add(g: Any, s: Any, x: V, index: V, src: V, dim: int) -> Any:
    return _elements(g, x, index, _cut(g, src, index), dim, reduction="add")


_REDUCTIONS = {
    "sum": "add",
    "add": "add",
    "prod": "mul",
    "multiply": "mul",
    "amax": "max",
    "amin": "min",
}


@lower("scatter_reduce", "scatter_with")
def _scatter_reduce(
    g: Any, s: Any, x: V, index: V, src: Any, dim: int, reduce: str, include_self: bool = True
) -> Any:
    if not isinstance(src, V):
        src = g.op("Expand", number(g, src, x.dtype), g.ints(index.shape))
    else:
        src = _cut(g, src, index)
    if reduce == "mean":
        return _scatter_mean(g, x, index, src, dim, include_self)
    begin = x
    if not include_self:  # the target starts as the reduction's identity
        filled = g.op("Expand", number(g, _neutral(reduce, x.dtype), x.dtype), g.ints(index.shape))
        begin = V.of(_elements(g, x, index, filled, dim), x.shape, x.dtype)
    return _elements(g, begin, index, src, dim, reduction=_REDUCTIONS[reduce])


def _neutral(reduce: str, kind: Any) -> Any:
    """A reduction's identity."""
    if reduce in ("amax", "amin"):
        info: Any = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind)
        least, most = (-np.inf, np.inf) if kind.kind == "f" else (info.min, info.max)
        return least if reduce == "amax" else most
    return 1 if _REDUCTIONS[reduce] == "mul" else 0


def _scatter_mean(g: Any, x: V, index: V, src: Any, dim: int, include_self: bool) -> Any:
    zero, one = number(g, 0, x.dtype), number(g, 1, x.dtype)
    blank = V.of(g.op("Expand", zero, g.ints(x.shape)), x.shape, x.dtype)
    ones = g.op("Expand", one, g.ints(index.shape))
    count = _elements(g, blank, index, ones, dim, reduction="add")
    total = _elements(g, x if include_self else blank, index, src, dim, reduction="add")
    if include_self:
        count = g.op("Add", count, one)
    mean = floored if x.dtype.kind in "iu" else lambda g, a, b, _: g.op("Div", a, b)
    found = mean(g, total, g.op("Max", count, one), x.dtype)
    return found if include_self else g.op("Where", g.op("Equal", count, zero), x, found)


def rows_replaced(g: Any, x: V, index: Any, rows: Any, dim: int, **reduction: Any) -> Any:
    """`x` with the slices at these positions of a dimension replaced."""
    dim %= x.rank
    order = [dim, *(d for d in range(x.rank) if d != dim)]
    back = [order.index(d) for d in range(x.rank)]
    moved, part = (x, rows) if not dim else (g.op("Transpose", a, perm=order) for a in (x, rows))
    made = g.op("ScatterND", moved, g.op("Unsqueeze", index, g.axes([1])), part, **reduction)
    return g.op("Transpose", made, perm=back) if dim else made


@lower("slice_scatter")
def _slice_scatter(g: Any, s: Any, x: V, src: V, dim: int, start: Any, end: Any, step: Any) -> Any:
    n = x.shape[dim]
    src = _like(g, src, x.dtype)
    if step == 1 and start == 0 and end == n:
        return g.op("Identity", src)
    if step == 1:
        axis = dim % x.rank
        far = np.array([np.iinfo(np.int64).max])
        parts = [src]
        if start != 0:
            parts.insert(0, g.op("Slice", x, np.array([0]), g.ints([start]), g.axes([axis])))
        if end != n:
            parts.append(g.op("Slice", x, g.ints([end]), far, g.axes([axis])))
        return g.op("Concat", *parts, axis=axis)
    stop = g.op("Add", g.scalar(start), g.scalar(src.shape[dim] * step))
    places = g.op("Range", g.scalar(start), stop, g.scalar(step))
    return rows_replaced(g, x, places, src, dim)


@lower("select_scatter")
def _select_scatter(g: Any, s: Any, x: V, src: V, dim: int, index: Any) -> Any:
    if isinstance(index, Size):
        back: Any = index - x.shape[dim]
        index = index if isinstance(back, Size) else back
    row = g.op("Unsqueeze", _like(g, src, x.dtype), g.axes([dim % x.rank]))
    return rows_replaced(g, x, g.length(index), row, dim)


@lower("diagonal_scatter")
def _diagonal_scatter(g: Any, s: Any, x: V, src: V, offset: int, dim1: int, dim2: int) -> Any:
    from .moving import diagonal_places

    a, b = dim1 % x.rank, dim2 % x.rank
    order = [*(d for d in range(x.rank) if d not in (a, b)), a, b]
    moved = g.op("Transpose", x, perm=order)
    rows, columns = x.shape[a], x.shape[b]
    lead = [x.shape[d] for d in order[:-2]]
    flat = V.of(
        g.reshape(moved, (*lead, rows * columns), given=()), (*lead, rows * columns), x.dtype
    )
    index = diagonal_places(g, src.shape[-1], columns, offset)
    made = rows_replaced(g, flat, index, _like(g, src, x.dtype), -1)
    square = g.reshape(made, (*lead, rows, columns), given=())
    return g.op("Transpose", square, perm=[order.index(d) for d in range(x.rank)])


def _in_rows(g: Any, x: V, index: V, source: V, dim: int) -> tuple[Any, Any]:
    """A 0-dim index and source as those of one position."""
    if not index.rank:
        index = g.op("Reshape", index, np.array([1]))
    if source.rank < x.rank:
        source = g.op("Unsqueeze", source, g.axes([dim % x.rank]))
    return index, source


@lower("index_add")
def _index_add(g: Any, s: Any, x: V, index: V, source: V, dim: int, alpha: Any) -> Any:
    if alpha != 1:
        source = V.of(g.op("Mul", source, number(g, alpha, x.dtype)), source.shape, x.dtype)
    if not x.rank:
        return g.op("Add", x, g.op("Reshape", source, np.array([], np.int64)))
    index, source = _in_rows(g, x, index, source, dim)
    return rows_replaced(g, x, index, source, dim, reduction="add")


@lower("index_copy")
def _index_copy(g: Any, s: Any, x: V, index: V, source: V, dim: int) -> Any:
    if not x.rank:
        return g.op("Reshape", source, np.array([], np.int64))
    index, source = _in_rows(g, x, index, source, dim)
    return rows_replaced(g, x, index, source, dim)


@lower("index_fill", "index_fill_tensor")
def _index_fill(g: Any, s: Any, x: V, index: V, value: Any, dim: int) -> Any:
    shape = list(x.shape)
    if not shape:
        return g.op("Identity", number(g, value, x.dtype))
    shape[dim] = index.shape[0] if index.rank else 1
    flat = index if index.rank else g.op("Reshape", index, np.array([1]))
    return rows_replaced(g, x, flat, g.expand(number(g, value, x.dtype), shape), dim)


@lower("put")
def _put(g: Any, s: Any, x: V, index: V, source: V, accumulate: bool) -> Any:
    flat = [g.op("Reshape", a, np.array([-1])) for a in (x, index, source)]
    made = g.op("ScatterElements", *flat, axis=0, reduction="add" if accumulate else "none")
    return g.reshape(made, x.shape, given=())


@lower("index_put")
def _index_put(g: Any, s: Any, x: V, places: Any, values: V, accumulate: bool) -> Any:
    given = [(d, p) for d, p in enumerate(places) if p is not None]
    reduction = {"reduction": "add"} if accumulate else {}
    values = _like(g, values, x.dtype)
    masks = [d for d, p in given if p.dtype.kind == "b"]
    if masks and len(given) > 1:
        raise unsupported(s, "by several masks")
    if masks:
        dim, mask = given[0]
        covered = list(range(dim, dim + mask.rank))
        order = [*covered, *(d for d in range(x.rank) if d not in covered)]
        moved = g.op("Transpose", x, perm=order)
        coordinates = g.op("Transpose", g.op("NonZero", mask), perm=[1, 0])
        block, dims = 1, covered
    else:
        moved, coordinates, block = _coordinates(g, x, given)
        dims = [d for d, _ in given]
    order = [*dims, *(d for d in range(x.rank) if d not in dims)]
    rest = [x.shape[d] for d in range(x.rank) if d not in dims]
    head = g.op("Slice", g.op("Shape", coordinates), np.array([0]), np.array([block]))
    adjacent = dims[-1] - dims[0] + 1 == len(dims)
    start = dims[0] if adjacent else 0
    # The values broadcast to the shape that reading would give, with the block in its place.
    lead, tail = rest[:start], rest[start:]
    shape = [g.ints(lead)] * bool(lead) + [head] + [g.ints(tail)] * bool(tail)
    spread = g.op("Expand", values, g.op("Concat", *shape, axis=0) if len(shape) > 1 else head)
    if start:
        spread = g.op(
            "Transpose", spread,
            perm=[*range(start, start + block), *range(start), *range(start + block, block + len(rest))],
        )  # fmt: skip
    made = g.op("ScatterND", moved, coordinates, spread, **reduction)
    back = [order.index(d) for d in range(x.rank)]
    return made if back == list(range(x.rank)) else g.op("Transpose", made, perm=back)
