"""Linear maps along single dimensions: each output element is a weighted sum of a few input elements.

Padding by reflection, adaptive averages and resizing are all such maps, one for each dimension. A
`LineMap` holds the few elements and weights of every output; its transpose, which the gradient
asks for, is another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..declare.record import LINEAR, Op

Weights = Sequence[Sequence[float]] | None


class LineMap:
    """`out[i] = sum of weight[j] * x[index[j]]` for the places j that belong to i."""

    def __init__(self, size: int, index: Any, starts: Any, weights: Any = None) -> None:
        self.size = size  # of the input
        self.index = index  # input elements, those of the first output first
        self.starts = starts  # where each output's begin, and the end of the last
        self.weights = weights  # None: all are 1
        counts = np.diff(starts)
        self.count = len(counts)  # the size of the output
        self.taps = int(counts[0]) if len(counts) and np.all(counts == counts[0]) else 0
        self.empty = counts == 0 if not np.all(counts) else None
        self.origin: tuple[Any, ...] | None = (
            None  # the formula that it follows from, and its numbers
        )
        self._transposed: LineMap | None = None

    @property
    def transposed(self) -> LineMap:
        if self._transposed is None:
            outputs = np.repeat(np.arange(self.count), np.diff(self.starts))
            order = np.argsort(self.index, kind="stable")
            starts = np.searchsorted(self.index[order], np.arange(self.size + 1))
            weights = None if self.weights is None else self.weights[order]
            self._transposed = LineMap(self.count, outputs[order], starts, weights)
            self._transposed._transposed = self
        return self._transposed

    def along(self, x: Any, axis: int) -> Any:
        """The map applied to one dimension of an array."""
        after = (1,) * (x.ndim - axis - 1)
        if self.taps:
            index = np.reshape(self.index, (self.count, self.taps))
            total = None
            for tap in range(self.taps):
                term = np.take(x, constant(index[:, tap], x), axis=axis)
                if self.weights is not None:
                    weight = np.reshape(self.weights, (self.count, self.taps))[:, tap]
                    term = term * constant(weight.astype(x.dtype).reshape(-1, *after), x)
                total = term if total is None else total + term
            return total
        shape = list(x.shape)
        shape[axis] = self.count
        if not len(self.index):
            return np.zeros_like(x, shape=tuple(shape))
        picked = np.take(x, constant(self.index, x), axis=axis)
        if self.weights is not None:
            picked = picked * constant(self.weights.astype(x.dtype).reshape(-1, *after), x)
        if self.empty is None:
            return np.add.reduceat(picked, self.starts[:-1], axis=axis)
        filled = ~self.empty
        total = np.add.reduceat(picked, self.starts[:-1][filled], axis=axis)
        place = np.maximum(np.cumsum(filled) - 1, 0)  # of each output among those that are filled
        mask = constant(self.empty.reshape(-1, *after), x)
        zero = np.zeros_like(total, shape=())
        return np.where(mask, zero, np.take(total, constant(place, x), axis=axis))


def constant(array: Any, like: Any) -> Any:
    """An array of ours beside an array of another type."""
    if type(like) is np.ndarray or not hasattr(like, "__array_function__"):
        return array
    return np.asarray(array, like=like)


def picking(size: int, index: Any) -> LineMap:
    """The map that gives every output one input element."""
    return LineMap(size, np.asarray(index, np.intp), np.arange(len(index) + 1))


def weighing(size: int, index: Any, weights: Any) -> LineMap:
    """The map with the same number of inputs for every output: both are `(outputs, inputs)`."""
    index = np.asarray(index, np.intp)
    count, taps = index.shape
    starts = np.arange(count + 1) * taps
    return LineMap(size, index.reshape(-1), starts, np.asarray(weights, np.float64).reshape(-1))


def summing(size: int, starts: Any, stops: Any) -> LineMap:
    """The map that adds up runs of input elements, which may overlap."""
    lengths = np.asarray(stops) - np.asarray(starts)
    ends = np.concatenate(([0], np.cumsum(lengths)))
    within = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)
    return LineMap(size, np.repeat(starts, lengths) + within, ends)


Maps = tuple["LineMap | None", ...]


def apply_maps(x: Any, maps: Maps) -> Any:
    """Each map on its dimension, the last map on the last one; None leaves a dimension alone."""
    first = x.ndim - len(maps)
    out = x
    for i, line in enumerate(maps):
        if line is not None:
            out = line.along(out, first + i)
    return np.copy(x, order="C") if out is x else out


def transposed(maps: Maps) -> Maps:
    return tuple([None if line is None else line.transposed for line in maps])


line_maps_op: Op = Op(
    "line_maps",
    apply_maps,
    ("x",),
    vjp={"x": lambda g, maps: line_maps_op(g, maps=transposed(maps))},
    jvp=LINEAR,
)


def mapping_record(name: str, node: str, **more: Any) -> Op:
    """A record of its own name for an operation that is a map for each dimension."""
    return Op(
        name,
        apply_maps,
        ("x",),
        node=node,
        vjp={"x": lambda g, maps: line_maps_op(g, maps=transposed(maps))},
        jvp=LINEAR,
        **more,
    )
