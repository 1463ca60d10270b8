"""Tensors with some elements replaced: scatters, and what writes in place become."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import V
from ..lowering import lower, number, unsupported
from ..sizes import Size
from .indexing import _block_back, _coordinates


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
    return g.op("ScatterElements", x, index, src, axis=dim, **reduction)


@lower("scatter_value")
def _scatter_value(g: Any, s: Any, x: V, index: V, dim: int, value: Any) -> Any:
    filled = g.op("Expand", number(g, value, x.dtype), g.ints(index.shape))
    return _elements(g, x, index, filled, dim)


@lower("scatter_add")
def _scatter_add(g: Any, s: Any, x: V, index: V, src: V, dim: int) -> Any:
    return _elements(g, x, index, _cut(g, src, index), dim, reduction="add")


_REDUCTIONS = {"sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "amax": "max", "amin": "min"}


@lower("scatter_reduce", "scatter_with")
def _scatter_reduce(
    g: Any, s: Any, x: V, index: V, src: Any, dim: int, reduce: str, include_self: bool = True
) -> Any:
    if reduce not in _REDUCTIONS or not include_self:
        raise unsupported(s, f"with reduce='{reduce}', include_self={include_self}")
    if not isinstance(src, V):
        src = g.op("Expand", number(g, src, x.dtype), g.ints(index.shape))
    else:
        src = _cut(g, src, index)
    return _elements(g, x, index, src, dim, reduction=_REDUCTIONS[reduce])


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
    if isinstance(index, Size) and not isinstance(index - x.shape[dim], Size):
        index = index - x.shape[dim]
    row = g.op("Unsqueeze", _like(g, src, x.dtype), g.axes([dim % x.rank]))
    return rows_replaced(g, x, g.length(index), row, dim)


@lower("diagonal_scatter")
def _diagonal_scatter(g: Any, s: Any, x: V, src: V, offset: int, dim1: int, dim2: int) -> Any:
    from ..lowering import LOWERINGS, step_of

    rows, columns = x.shape[dim1], x.shape[dim2]
    if rows != columns:
        raise unsupported(s, "of a matrix that is not square")
    shape = [n for d, n in enumerate(x.shape) if d not in (dim1 % x.rank, dim2 % x.rank)]
    spread = LOWERINGS["diag_embed"](
        g, step_of(s.op, [V.of("", x.shape, x.dtype)], s.site, {0}), V.of(src, (*shape, src.shape[-1]), x.dtype),
        offset=offset, dim1=dim1, dim2=dim2,
    )  # fmt: skip
    ones = g.expand(np.ones((), np.int64), (src.shape[-1],))
    mask = LOWERINGS["diag_embed"](
        g, step_of(s.op, [V.of("", (rows, columns), np.dtype(np.int64))], s.site, {0}),
        V.of(ones, (src.shape[-1],), np.int64), offset=offset, dim1=0, dim2=1,
    )  # fmt: skip
    if (dim1 % x.rank, dim2 % x.rank) != (x.rank - 2, x.rank - 1):
        raise unsupported(s, "of other dimensions than the last two")
    return g.op("Where", g.cast(mask, np.bool_), spread, x)


@lower("index_add")
def _index_add(g: Any, s: Any, x: V, index: V, source: V, dim: int, alpha: Any) -> Any:
    if alpha != 1:
        source = g.op("Mul", source, number(g, alpha, x.dtype))
    if not x.rank:
        raise unsupported(s, "to a tensor without dimensions")
    return rows_replaced(g, x, index, source, dim, reduction="add")


@lower("index_copy")
def _index_copy(g: Any, s: Any, x: V, index: V, source: V, dim: int) -> Any:
    if not x.rank:
        return g.op("Reshape", source, np.array([], np.int64))
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
    # The values broadcast to what reading would give, which has the block in its place.
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


__all__ = ["rows_replaced", "_block_back"]
