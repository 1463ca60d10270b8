"""Sorting, and what is found by sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import V
from ..lowering import lower
from ..sizes import product
from .reductions import reduced


def _top(g: Any, x: V, count: Any, dim: int, largest: bool) -> Any:
    given = g.cast(x, np.int32) if x.dtype.kind == "b" else x
    values, places = g.op(
        "TopK", given, count, axis=dim % x.rank, largest=int(largest), sorted=1, outputs=2
    )
    return (g.cast(values, np.bool_) if x.dtype.kind == "b" else values), places


@lower("topk")
def _topk(g: Any, s: Any, x: V, k: Any, dim: int, largest: bool) -> Any:
    if not x.rank:
        return g.op("Identity", x), np.array(0)
    return _top(g, x, g.length(k), dim, largest)


@lower("sort", "sort_stable")
def _sort(g: Any, s: Any, x: V, dim: int, descending: bool) -> Any:
    if not x.rank:
        return g.op("Identity", x), np.array(0)
    return _top(g, x, g.length(x.shape[dim]), dim, descending)


def _nth(g: Any, x: V, place: Any, dim: int, keepdim: bool) -> Any:
    """The smallest element after `place` others; `place` is a one-element tensor."""
    if not x.rank:
        return g.op("Identity", x), np.array(0)
    found = _top(g, x, g.length(x.shape[dim]), dim, False)
    place = place if keepdim else g.op("Squeeze", place, np.array([0]))
    return tuple(g.op("Gather", part, place, axis=dim % x.rank) for part in found)


def _middle(g: Any, count: Any) -> Any:
    """The position of the median: for an even number, the lower of two."""
    return g.op("Div", g.op("Sub", g.length(count), np.array([1])), np.array([2]))


@lower("kthvalue")
def _kthvalue(g: Any, s: Any, x: V, k: Any, dim: int, keepdim: bool) -> Any:
    return _nth(g, x, g.length(k - 1), dim, keepdim)


@lower("median_dim")
def _median_dim(g: Any, s: Any, x: V, dim: int, keepdim: bool) -> Any:
    if not x.rank:
        return g.op("Identity", x), np.array(0)
    return _nth(g, x, _middle(g, x.shape[dim]), dim, keepdim)


@lower("median")
def _median(g: Any, s: Any, x: V) -> Any:
    count = product(x.shape)
    flat = V.of(g.op("Reshape", x, np.array([-1])), (count,), x.dtype)
    return _nth(g, flat, _middle(g, count), 0, False)[0]


@lower("searchsorted")
def _searchsorted(
    g: Any, s: Any, sequence: V, values: V, sorter: Any, right: bool, int32: bool
) -> Any:
    """How many elements come before: those that are smaller, or not larger."""
    if sorter is not None:
        axis = sequence.rank - 1
        sequence = V.of(
            g.op("GatherElements", sequence, sorter, axis=axis), sequence.shape, sequence.dtype
        )
    spread = g.op("Unsqueeze", values, g.axes([values.rank]))
    lined = (
        sequence if sequence.rank == 1 else g.op("Unsqueeze", sequence, g.axes([sequence.rank - 1]))
    )
    before = g.op("LessOrEqual" if right else "Less", lined, spread)
    counted = V.of(g.cast(before, s.out.dtype), (*values.shape, sequence.shape[-1]), s.out.dtype)
    return reduced(g, "ReduceSum", counted, [values.rank], False)


@lower("isin")
def _isin(g: Any, s: Any, x: V, tests: V, invert: bool) -> Any:
    flat = g.op("Reshape", tests, np.array([-1]))
    same = g.op("Equal", g.op("Unsqueeze", x, g.axes([x.rank])), flat)
    counted = V.of(g.cast(same, np.int64), (*x.shape, product(tests.shape)), np.int64)
    count = reduced(g, "ReduceSum", counted, [x.rank], False)
    there = g.op("Greater", count, g.constant(np.array(0)))
    return g.op("Not", there) if invert else there


@lower("unique2")
def _unique(g: Any, s: Any, x: V, dim: Any = None) -> Any:
    values, _, inverse, counts = g.op("Unique", x, sorted=1, outputs=4)
    return values, g.reshape(inverse, x.shape, given=()), counts
