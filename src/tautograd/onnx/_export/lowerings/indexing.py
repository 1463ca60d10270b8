"""Reading by indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import V
from ..lowering import lower, number, unsupported
from .comparing import truth


def wrapped(g: Any, index: V, n: Any) -> Any:
    """Convert positions counted from the end to positions from the start (some operators need these)."""
    n = g.cast(g.scalar(n), index.dtype)
    return g.op(
        "Where", g.op("Less", index, number(g, 0, index.dtype)), g.op("Add", index, n), index
    )


@lower("index")
def _index(g: Any, s: Any, x: V, places: Any) -> Any:
    given = [(d, p) for d, p in enumerate(places) if p is not None]
    if len(given) == 1:
        dim, place = given[0]
        if place.dtype.kind == "b":
            return _masked(g, s, x, place, dim)
        return g.op("Gather", x, place, axis=dim)
    if any(p.dtype.kind == "b" for _, p in given):
        raise unsupported(s, "by several masks")
    moved, coordinates, block = _coordinates(g, x, given)
    picked = g.op("GatherND", moved, coordinates)
    return _block_back(g, picked, [d for d, _ in given], block, x.rank)


def _coordinates(g: Any, x: V, given: Any) -> tuple[Any, Any, int]:
    """`x` with the indexed dimensions first, the positions in GatherND's form, and their rank."""
    dims = [d for d, _ in given]
    order = [*dims, *(d for d in range(x.rank) if d not in dims)]
    moved = x if order == list(range(x.rank)) else g.op("Transpose", x, perm=order)
    shapes = [p.shape for _, p in given]
    rank = max(len(shape) for shape in shapes)
    total = None
    for _, p in given:  # the shape that all of them broadcast to
        zero = g.op("Mul", g.cast(p, np.int64), number(g, 0, np.int64))
        total = zero if total is None else g.op("Add", total, zero)
    parts = [
        g.op("Unsqueeze", g.op("Add", wrapped(g, _int64(g, p), x.shape[d]), total), g.axes([-1]))
        for d, p in given
    ]
    return moved, g.op("Concat", *parts, axis=-1) if len(parts) > 1 else parts[0], rank


def _int64(g: Any, p: V) -> V:
    return p if p.dtype == np.int64 else V.of(g.cast(p, np.int64), p.shape, np.int64)


def _block_back(g: Any, picked: Any, dims: list[int], block: int, rank: int) -> Any:
    """Move the indexed block to the place of the dimensions it replaces, if those are adjacent."""
    adjacent = dims[-1] - dims[0] + 1 == len(dims)
    start = dims[0] if adjacent else 0
    if not start:
        return picked
    rest = rank - len(dims)
    order = [*range(block, block + start), *range(block), *range(block + start, block + rest)]
    return g.op("Transpose", picked, perm=order)


def _masked(g: Any, s: Any, x: V, mask: V, dim: int) -> Any:
    covered = range(dim, dim + mask.rank)
    order = [*covered, *(d for d in range(x.rank) if d not in covered)]
    moved = x if order == list(range(x.rank)) else g.op("Transpose", x, perm=order)
    where = g.op("Transpose", g.op("NonZero", mask), perm=[1, 0])
    picked = g.op("GatherND", moved, where)
    return _block_back(g, picked, list(covered), 1, x.rank)


@lower("masked_select")
def _masked_select(g: Any, s: Any, x: V, mask: V) -> Any:
    shape = g.op("Shape", g.op("Or", g.op("Equal", x, x), g.op("Not", mask)))
    both = [g.op("Expand", a, shape) for a in (x, mask)]
    return g.op(
        "Compress",
        g.op("Reshape", both[0], np.array([-1])),
        g.op("Reshape", both[1], np.array([-1])),
    )


@lower("nonzero")
def _nonzero(g: Any, s: Any, x: V) -> Any:
    if not x.rank:  # a row without columns, or no row
        there = g.op("Reshape", truth(g, x), np.array([1]))
        return g.op("Compress", np.zeros((1, 0), np.int64), there, axis=0)
    return g.op("Transpose", g.op("NonZero", truth(g, x)), perm=[1, 0])


@lower("gather")
def _gather(g: Any, s: Any, x: V, index: V, dim: int) -> Any:
    if not x.rank:
        return g.op("Expand", x, g.ints(s.out.shape)) if s.out.rank else g.op("Identity", x)
    if not index.rank:
        one = g.op("Reshape", index, np.array([1]))
        return g.op("Reshape", g.op("GatherElements", x, one, axis=dim), np.array([], np.int64))
    return g.op("GatherElements", x, index, axis=dim)


@lower("index_select")
def _index_select(g: Any, s: Any, x: V, index: V, dim: int) -> Any:
    if not x.rank:
        return g.op("Identity", x)
    if not index.rank:
        index = V.of(g.op("Reshape", index, np.array([1])), (1,), index.dtype)
    return g.op("Gather", x, index, axis=dim)


@lower("take")
def _take(g: Any, s: Any, x: V, index: V) -> Any:
    return g.op("Gather", g.op("Reshape", x, np.array([-1])), index, axis=0)


@lower("embedding")
def _embedding(g: Any, s: Any, weight: V, index: V, **_: Any) -> Any:
    return g.op("Gather", weight, index, axis=0)


@lower("embedding_bag")
def _embedding_bag(
    g: Any,
    s: Any,
    weight: V,
    samples: Any,
    index: V,
    bag: V,
    bags: Any,
    mean: bool,
    padding_idx: int,
    scale: Any,
) -> Any:
    rows = g.op("Gather", weight, index, axis=0)
    ones = g.cast(g.op("GreaterOrEqual", index, number(g, 0, index.dtype)), weight.dtype)
    if padding_idx >= 0:
        ones = g.cast(
            g.op("Not", g.op("Equal", index, number(g, padding_idx, index.dtype))), weight.dtype
        )
    if samples is not None:
        rows = g.op("Mul", rows, g.op("Unsqueeze", samples, g.axes([1])))
    rows = g.op("Mul", rows, g.op("Unsqueeze", ones, g.axes([1])))
    where = g.op("Unsqueeze", bag, g.axes([1]))
    blank = g.expand(number(g, 0, weight.dtype), (bags, weight.shape[1]))
    total = g.op("ScatterND", blank, where, rows, reduction="add")
    if not mean:
        return total
    none = g.expand(number(g, 0, weight.dtype), (bags,))
    count = g.op(
        "Max", g.op("ScatterND", none, where, ones, reduction="add"), number(g, 1, weight.dtype)
    )
    return g.op("Div", total, g.op("Unsqueeze", count, g.axes([1])))
