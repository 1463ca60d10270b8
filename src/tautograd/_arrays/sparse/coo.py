"""Elements by their coordinates (COO): a list of positions, and the values there.

A position may be listed more than once; its element is the sum. `coalesced` says that none is, and
that they are sorted. A position fixes the first `sparse_dim` dimensions; the value there may itself be an array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import SparseArray


class CooArray(SparseArray):
    """`indices[:, k]` is the position of `values[k]`."""

    __slots__ = ("coalesced", "indices")

    def __init__(self, indices: Any, values: Any, shape: Any, coalesced: bool = False) -> None:
        self.indices = indices
        self.values = values
        self.shape = tuple(shape)
        self.coalesced = coalesced or indices.shape[1] < 2

    @property
    def sparse_dim(self) -> int:
        return int(self.indices.shape[0])

    @property
    def nnz(self) -> int:
        return int(self.indices.shape[1])

    def of_values(self, values: Any) -> CooArray:
        return CooArray(self.indices, values, self.shape, self.coalesced)

    def keys(self) -> Any:
        """Each position as one number, ascending in memory order."""
        self.require_places("_coalesce")
        extents = self.shape[: self.sparse_dim]
        if not extents:
            return np.zeros(self.nnz, np.int64)
        if not self.nnz:
            return np.zeros(0, np.int64)
        return np.ravel_multi_index(tuple(self.indices), extents)

    def is_in_order(self) -> bool:
        """Whether each position is listed once, in order."""
        keys = self.keys()
        return bool(np.all(keys[1:] > keys[:-1]))

    def coalesce(self) -> CooArray:
        """Each position once, in order, with the sum of its values."""
        if self.coalesced:
            return self
        keys = self.keys()
        kept, inverse = np.unique(keys, return_inverse=True)
        values = sum_at(self.values, inverse, len(kept))
        extents = self.shape[: self.sparse_dim]
        places = np.stack(np.unravel_index(kept, extents)) if extents else self.indices[:, :1]
        return CooArray(places.astype(np.int64), values, self.shape, True)

    def _dense(self) -> Any:
        found = self.coalesce()
        out = np.zeros(self.shape, self.dtype)
        out[tuple(found.indices)] = found.values if found.sparse_dim else found.values[0:1].sum(0)
        return out

    def __repr__(self) -> str:
        return f"CooArray(nnz={self.nnz}, shape={self.shape}, dtype={self.dtype})"


def sum_at(values: Any, places: Any, count: int) -> Any:
    """The sums of rows of values with the same position, in order of appearance."""
    out = np.zeros((count, *values.shape[1:]), values.dtype)
    if values.dtype.kind == "b":
        np.logical_or.at(out, places, values)
    else:
        np.add.at(out, places, values)
    return out


def empty(shape: tuple[int, ...], dtype: Any, sparse_dim: int | None = None) -> CooArray:
    """An array of zeros, none of which is stored."""
    dims = len(shape) if sparse_dim is None else sparse_dim
    indices = np.zeros((dims, 0), np.int64)
    return CooArray(indices, np.zeros((0, *shape[dims:]), dtype), shape, True)


def from_dense(array: Any, sparse_dim: int) -> CooArray:
    """The elements that are not zero, by the first `sparse_dim` dimensions."""
    inner = tuple(range(sparse_dim, array.ndim))
    held = np.any(array != 0, axis=inner) if inner else array != 0
    places = np.nonzero(held) if sparse_dim else ()
    indices = np.stack(places).astype(np.int64) if sparse_dim else np.zeros((0, 1), np.int64)
    values = array[places] if sparse_dim else array.reshape(1, *array.shape)
    if not sparse_dim and not np.any(array):  # nothing is stored for a zero
        indices, values = indices[:, :0], values[:0]
    return CooArray(indices, values, array.shape, True)


def masked(array: Any, mask: CooArray) -> CooArray:
    """An array restricted to another one's positions."""
    if isinstance(array, CooArray):
        held = array.coalesce()
        keys, wanted = held.keys(), mask.keys()
        at = np.searchsorted(keys, wanted)
        at = np.minimum(at, max(len(keys) - 1, 0))
        values = np.zeros((len(wanted), *array.values.shape[1:]), array.dtype)
        if len(keys):
            found = keys[at] == wanted
            values[found] = held.values[at[found]]
        return CooArray(mask.indices, values, mask.shape, mask.coalesced)
    there = np.array(at_places(array, mask.indices))
    return CooArray(mask.indices, there, mask.shape, mask.coalesced)


def at_places(array: Any, indices: Any) -> Any:
    """An array's values at the listed positions: the whole array for each, if a position fixes no dimension."""
    if len(indices):
        return array[tuple(indices)]
    return np.broadcast_to(array, (indices.shape[1], *array.shape))


def merged(a: CooArray, b: CooArray) -> CooArray:
    """The sum of two arrays, by merging both lists, the smaller position first.

    For sorted lists that is their sorted union; for others it is what PyTorch returns, whose elements
    are the same once coalesced.
    """
    dtype = np.result_type(a.dtype, b.dtype)
    if not a.nnz or not b.nnz:
        return (a if a.nnz else b).astype(dtype)  # type: ignore[no-any-return]
    if a.sparse_dim != b.sparse_dim:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same density, but 'self' has "
            f"{a.sparse_dim} sparse dimensions while 'other' has {b.sparse_dim} sparse dimensions"
        )
    if np.array_equal(a.indices, b.indices):
        both = a.coalesced and b.coalesced
        return CooArray(a.indices, (a.values + b.values).astype(dtype), a.shape, both)
    if not all(x.values.flags.c_contiguous for x in (a, b)):
        indices = np.concatenate((a.indices, b.indices), axis=1)
        return CooArray(indices, np.concatenate((a.values, b.values)).astype(dtype), a.shape)
    left, right = _order(a, b)
    count = max(left[-1:].tolist() + right[-1:].tolist(), default=-1) + 1
    values = np.zeros((count, *a.values.shape[1:]), dtype)
    indices = np.zeros((a.sparse_dim, count), np.int64)
    indices[:, left], indices[:, right] = a.indices, b.indices
    values[left] += a.values
    values[right] += b.values
    return CooArray(indices, values, a.shape, a.coalesced and b.coalesced)


def _order(a: CooArray, b: CooArray) -> tuple[Any, Any]:
    """Where each element of either array goes in the merged list."""
    if a.coalesced and b.coalesced:
        union = np.union1d(a.keys(), b.keys())
        return np.searchsorted(union, a.keys()), np.searchsorted(union, b.keys())
    x, y = a.keys().tolist(), b.keys().tolist()
    left, right = [], []
    i = j = place = 0
    while i < len(x) or j < len(y):
        first = j >= len(y) or (i < len(x) and x[i] <= y[j])
        second = i >= len(x) or (j < len(y) and y[j] <= x[i])
        if first:
            left.append(place)
            i += 1
        if second:
            right.append(place)
            j += 1
        place += 1
    return np.array(left, np.int64), np.array(right, np.int64)


def transposed(array: CooArray, order: tuple[int, ...]) -> CooArray:
    """Permute dimensions; sparse ones stay before dense ones."""
    sparse = array.sparse_dim
    if sorted(order[:sparse]) != list(range(sparse)):
        raise RuntimeError("transpose: can't transpose a sparse dimension with a dense one")
    inner = (0, *(d - sparse + 1 for d in order[sparse:]))
    shape = tuple(array.shape[d] for d in order)
    same = tuple(order[:sparse]) == tuple(range(sparse)) and array.coalesced
    indices = array.indices[list(order[:sparse])]
    return CooArray(indices, np.transpose(array.values, inner), shape, same)
