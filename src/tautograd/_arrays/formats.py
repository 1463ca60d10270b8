"""Layouts and memory formats: PyTorch's names for how elements are stored.

A tensor is strided, or sparse (`_arrays/sparse`). A memory format is a preference for the order of the dimensions
in memory; `empty_in_order` implements it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._random.shapes import memory_order


class _Named:
    """A constant that prints as `torch.<name>` and is equal to itself only."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return format_named, (self.name,)


class layout(_Named):  # noqa: N801  (PyTorch's name)  # noqa: N801 - PyTorch's name
    """How a tensor stores its elements: `strided`, or one of the sparse layouts."""

    __module__ = "torch"
    __slots__ = ()


class memory_format(_Named):  # noqa: N801  (PyTorch's name)  # noqa: N801 - PyTorch's name
    """The order in which dimensions lie in memory."""

    __module__ = "torch"
    __slots__ = ()


strided = layout("strided")
sparse_coo, sparse_csr, sparse_csc = (layout(f"sparse_{kind}") for kind in ("coo", "csr", "csc"))
sparse_bsr, sparse_bsc = layout("sparse_bsr"), layout("sparse_bsc")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")

FORMAT_NAMES: dict[str, Any] = {
    f.name: f
    for f in (
        *(strided, contiguous_format, preserve_format, channels_last, channels_last_3d),
        *(sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc),
    )
}
# The channels are last in memory, though they are the second dimension.
_CHANNELS = {channels_last: (4, (0, 2, 3, 1)), channels_last_3d: (5, (0, 2, 3, 4, 1))}


def format_named(name: str) -> Any:
    return FORMAT_NAMES[name]


def order_of(shape: Sequence[int], wanted: memory_format) -> tuple[int, ...]:
    """The dimensions from the slowest to the fastest for a memory format."""
    if wanted not in _CHANNELS:
        return tuple(range(len(shape)))
    rank, order = _CHANNELS[wanted]
    if len(shape) != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {wanted.name} format")
    return order


def strides_in_order(shape: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """Strides in elements of a dense array with its dimensions in this order, slowest first."""
    strides, step = [0] * len(shape), 1
    for dim in reversed(order):
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def empty_preserving(array: Any, dtype: Any = None, wanted: memory_format = preserve_format) -> Any:
    """An uninitialised dense array with the shape of `array`, its dimensions in the same order."""
    shape = array.shape
    if wanted is not preserve_format:
        return empty_in_order(array, shape, order_of(shape, wanted), dtype)
    if array.ndim < 2 or array.flags.c_contiguous:
        return np.empty_like(array, dtype=dtype, order="C", subok=False)
    return empty_in_order(array, shape, memory_order(shape, array.strides)[::-1], dtype)


def empty_in_order(like: Any, shape: Sequence[int], order: Sequence[int], dtype: Any) -> Any:
    """An uninitialised array with its dimensions in this memory order, slowest first."""
    extents = tuple([shape[d] for d in order])
    dense = np.empty_like(like, dtype=dtype, shape=extents, order="C", subok=False)
    return np.transpose(dense, [order.index(d) for d in range(len(order))])


def iteration_order(shape: Sequence[int], operands: Sequence[Sequence[int]]) -> list[int]:
    """The dimensions, fastest first, in which PyTorch iterates over operands together.

    `operands` are their strides, 0 where one is broadcast. It is an insertion sort, since the comparison
    is no total order: a dimension that every operand broadcasts is incomparable.
    """

    def comparison(first: int, second: int) -> int:
        for strides in operands:
            one, other = strides[first], strides[second]
            if one and other:
                if one != other:
                    return -1 if one < other else 1
                if shape[first] > shape[second]:
                    return 1
        return 0

    order = list(range(len(shape) - 1, -1, -1))
    for place in range(1, len(order)):
        at = place
        for before in range(place - 1, -1, -1):
            found = comparison(order[before], order[at])
            if found > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif found < 0:
                break
    return order


def dense(array: Any) -> Any:
    """The array itself if it is C-contiguous (or does not expose that), else a copy."""
    flags = getattr(array, "flags", None)
    return array if flags is None or flags.c_contiguous else np.copy(array, order="C")
