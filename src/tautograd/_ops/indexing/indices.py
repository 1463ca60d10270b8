"""Index tensors, checked and put in order: what a call indexes by.

They travel as one `Indices`: an entry per dimension of the tensor, None where the whole dimension is
meant. They stand where NumPy's rules put them: together in place of the dimensions they index if those
are neighbours, else in front.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.strided import has_memory, is_distributed
from ..._tensor.tensor import Tensor, make
from ..._user_code.sites import warning_level
from .index_arguments import check_range, count


class Indices:
    """Index arrays by dimension; a mask of k dimensions is followed by k - 1 entries `COVERED`."""

    __slots__ = ("arrays", "boxes", "is_mask", "result_shape")

    def __init__(self, arrays: list[Any], shape: tuple[int, ...]) -> None:
        self.arrays = arrays
        self.boxes: list[Any] = []  # versions of the index tensors, to notice changes
        given = [a for a in arrays if a is not None and a is not COVERED]
        # A mask on its own is left to NumPy; among others it is the coordinates of its True's.
        self.is_mask = any(a.dtype == np.bool_ for a in given)
        self.result_shape = self._result_shape(shape, given)

    def _result_shape(self, shape: tuple[int, ...], given: list[Any]) -> tuple[int, ...]:
        if self.is_mask:
            return ()
        block = np.broadcast_shapes(*(a.shape for a in given))
        start = self.start
        return (*self._sizes(shape, 0, start), *block, *self._sizes(shape, start, len(self.arrays)))

    def _sizes(self, shape: tuple[int, ...], first: int, last: int) -> list[int]:
        return [shape[d] for d in range(first, last) if self.arrays[d] is None]

    @property
    def given(self) -> list[Any]:
        """The index arrays themselves."""
        return [a for a in self.arrays if a is not None and a is not COVERED]

    @property
    def start(self) -> int:
        """Before which dimension of the result the indexed block stands."""
        dims = [d for d, a in enumerate(self.arrays) if a is not None]
        adjacent = dims[-1] - dims[0] + 1 == len(dims)
        return dims[0] if adjacent else 0

    @property
    def whole(self) -> int:
        """How many dimensions are not indexed."""
        return sum(a is None for a in self.arrays)

    @property
    def key(self) -> tuple[Any, ...]:
        """What NumPy takes between brackets."""
        return tuple([slice(None) if a is None else a for a in self.arrays if a is not COVERED])

    def coordinates(self, shape: tuple[int, ...]) -> Indices:
        """The same places by integers only."""
        if not self.is_mask:
            return self
        found: list[Any] = []
        for array in self.arrays:
            if array is None:
                found.append(None)
            elif array is not COVERED:
                found += np.nonzero(array)
        return Indices(found, shape)

    @property
    def example(self) -> Any:
        """One of the arrays, to name in an error."""
        return next(a for a in self.arrays if a is not None)

    def __iter__(self) -> Any:
        return (None if a is None else make(a) for a in self.arrays if a is not COVERED)


COVERED: Any = object()


def refuse_batched_mask(indices: Indices) -> None:
    """How many places a mask has differs from example to example: no batch can hold them."""
    if any(a.dtype == np.bool_ and not has_memory(a) for a in indices.given):
        raise RuntimeError(BATCHED_MASK)


BATCHED_MASK = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow: a "
    "mask that differs from example to example picks a different number of elements for each. Use "
    "where or masked_fill instead."
)


# --- from tensors to indices ---------------------------------------------------------------------


def prepare(input: Tensor, given: list[Any]) -> Indices:
    """Index tensors (None: the whole dimension), checked and, where need be, made coordinates."""
    shape = input._data.shape
    entries: list[Any] = []
    tensors = [t for t in given if t is not None]
    for tensor in tensors:
        if tensor._data.dtype not in _INDEXING:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    alone = len(tensors) == 1
    for position, tensor in enumerate(given):
        if tensor is None:
            entries.append(None)
            continue
        data = tensor._data
        if data.dtype == np.uint8:
            _warn_uint8()
            data = data != 0
        if data.dtype == np.bool_:
            _check_mask(data.shape, shape, len(entries), position)
            spread = is_distributed(data)
            if not has_memory(data) and not spread and not (alone and data.ndim):
                raise RuntimeError(BATCHED_MASK)
            if alone and data.ndim and not spread:
                entries += [data, *(COVERED,) * (data.ndim - 1)]
            else:
                entries += np.nonzero(data) if data.ndim else ()  # it covers no dimension
        else:
            entries.append(data)
    if len(entries) > len(shape):
        raise IndexError(
            f"too many indices for tensor of dimension {len(shape)} (got {len(entries)})"
        )
    if all(entry is None for entry in entries):
        raise RuntimeError("a mask without dimensions indexes nothing by itself")
    entries += [None] * (len(shape) - len(entries))
    _check_broadcast(entries)
    indices = Indices(entries, shape)
    _check_positions(indices, shape)
    indices.boxes = [t._version_box for t in tensors]
    return indices


_INDEXING = frozenset(map(np.dtype, (np.int64, np.int32, np.uint8, np.bool_)))


def _warn_uint8() -> None:
    import warnings

    warnings.warn(
        "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
        UserWarning,
        stacklevel=warning_level(),
    )


def _check_mask(mask: Any, shape: tuple[int, ...], dim: int, position: int) -> None:
    if dim + len(mask) > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    for d, n in enumerate(mask):
        if n != shape[dim + d]:
            raise IndexError(
                f"The shape of the mask {list(mask)} at index {d} does not match the shape of the "
                f"indexed tensor {list(shape)} at index {dim + d}"
            )


def _check_broadcast(entries: list[Any]) -> None:
    arrays = [a for a in entries if a is not None and a is not COVERED]
    try:
        np.broadcast_shapes(*(a.shape for a in arrays if a.dtype != np.bool_))
    except ValueError:
        shapes = ", ".join(str(list(a.shape)) for a in arrays)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None


def _check_positions(indices: Indices, shape: tuple[int, ...]) -> None:
    if indices.is_mask:
        return
    given = [(d, a) for d, a in enumerate(indices.arrays) if a is not None]
    block = np.broadcast_shapes(*(a.shape for _, a in given))
    if count(block) and any(shape[d] == 0 for d, _ in given):
        raise IndexError("index is out of bounds for dimension with size 0")
    if count(indices.result_shape):
        for number, (d, array) in enumerate(given):
            check_range(array, number, shape[d], low=-shape[d], error=IndexError)
