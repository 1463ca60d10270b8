"""NumPy's functions that select and join elements, on COO arrays: positions change, values do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .base import not_for
from .coo import CooArray


def taken(x: CooArray, index: Any, axis: int) -> CooArray:
    """The slices at `index` of one dimension, in that order."""
    x = x.coalesce()
    axis %= x.ndim
    index = np.asarray(index)
    wanted = np.where(index < 0, index + x.shape[axis], index)
    if axis >= x.sparse_dim:
        values = np.take(x.values, wanted, axis=axis - x.sparse_dim + 1)
        return CooArray(x.indices, values, _with(x.shape, axis, len(wanted)), x.coalesced)
    pairs = [(place, np.nonzero(x.indices[axis] == row)[0]) for place, row in enumerate(wanted)]
    kept = np.concatenate([at for _, at in pairs] or [np.zeros(0, np.int64)]).astype(np.int64)
    new = np.concatenate([np.full(len(at), place) for place, at in pairs] or [np.zeros(0)])
    indices = x.indices[:, kept]
    indices[axis] = new
    found = CooArray(indices, x.values[kept], _with(x.shape, axis, len(wanted)))
    order = np.argsort(found.keys(), kind="stable")
    return CooArray(indices[:, order], found.values[order], found.shape, True)


def _with(shape: tuple[int, ...], axis: int, extent: int) -> tuple[int, ...]:
    return (*shape[:axis], extent, *shape[axis + 1 :])


def selected(x: CooArray, axis: int, place: int) -> Any:
    """One slice of a dimension, which is removed; dense once no sparse dimension is left."""
    if axis >= x.sparse_dim:
        values = np.take(x.values, place, axis=axis - x.sparse_dim + 1)
        return CooArray(x.indices, values, _without(x.shape, axis), x.coalesced)
    held = x.indices[axis] == place
    if x.sparse_dim == 1:
        return np.asarray(np.sum(x.values[held], axis=0, dtype=x.dtype))
    rest = [d for d in range(x.sparse_dim) if d != axis]
    return CooArray(x.indices[rest][:, held], x.values[held], _without(x.shape, axis), x.coalesced)


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def item(x: CooArray, index: Any) -> Any:
    """`x[i]`, `x[i, j]`, `x[:, j]`: integers and full slices."""
    steps = index if isinstance(index, tuple) else (index,)
    if Ellipsis in [s for s in steps if s is Ellipsis]:
        at = next(k for k, s in enumerate(steps) if s is Ellipsis)
        fill = (slice(None),) * (x.ndim - len(steps) + 1)
        steps = (*steps[:at], *fill, *steps[at + 1 :])
    found: Any = x
    axis = 0
    for step in steps:
        if isinstance(step, slice):
            if step != slice(None):
                raise not_for("as_strided", x.backend)
            axis += 1
        elif isinstance(step, (int, np.integer)):
            extent = found.shape[axis]
            if not -extent <= step < extent:
                raise IndexError(
                    f"select(): index {step} out of range for tensor of size {list(found.shape)} at "
                    f"dimension {axis}"
                )
            if isinstance(found, CooArray):
                found = selected(found, axis, int(step) % extent)
            else:
                found = np.asarray(np.take(found, step, axis=axis))
        else:
            raise not_for("index.Tensor", x.backend)
    return found


def joined(arrays: Sequence[Any], axis: int = 0, **_: Any) -> CooArray:
    """Concatenate arrays along a dimension."""
    first = arrays[0]
    if not all(isinstance(a, CooArray) for a in arrays):
        raise RuntimeError("Concatenating sparse tensors, but a dense tensor was found")
    axis %= first.ndim
    shape = _with(first.shape, axis, sum(a.shape[axis] for a in arrays))
    if axis >= first.sparse_dim:
        return _joined_inside(arrays, axis, shape)
    parts, offset = [], 0
    for a in arrays:
        indices = a.indices.copy()
        indices[axis] += offset
        offset += a.shape[axis]
        parts.append(indices)
    values = np.concatenate([a.values for a in arrays])
    return CooArray(np.concatenate(parts, axis=1), values, shape)


def _joined_inside(arrays: Sequence[CooArray], axis: int, shape: tuple[int, ...]) -> CooArray:
    """Concatenate along a dense dimension: each array's values, padded with zeros for the others'."""
    values, offset = [], 0
    inner = axis - arrays[0].sparse_dim + 1
    for a in arrays:
        full = np.zeros((a.nnz, *shape[a.sparse_dim :]), a.dtype)
        window: list[Any] = [slice(None)] * full.ndim
        window[inner] = slice(offset, offset + a.shape[axis])
        full[tuple(window)] = a.values
        values.append(full)
        offset += a.shape[axis]
    places = np.concatenate([a.indices for a in arrays], axis=1)
    return CooArray(places, np.concatenate(values), shape)


def expanded(x: CooArray, axis: int) -> CooArray:
    """Add a dimension of one. PyTorch does not mark the result as coalesced."""
    axis %= x.ndim + 1
    shape = (*x.shape[:axis], 1, *x.shape[axis:])
    if axis > x.sparse_dim:
        values = np.expand_dims(x.values, axis - x.sparse_dim + 1)
        return CooArray(x.indices, values, shape)
    return CooArray(np.insert(x.indices, axis, 0, axis=0), x.values, shape)


def reshaped(x: Any, shape: Any, **_: Any) -> Any:
    """Add or remove dimensions of one; nothing else."""
    shape = tuple(shape)
    if not isinstance(x, CooArray):
        raise not_for("reshape", x.backend)
    if shape == x.shape:
        return x
    extra = len(shape) - x.ndim
    if extra == 1:
        for axis in range(len(shape)):
            if shape[axis] == 1 and _without(shape, axis) == x.shape:
                return expanded(x, axis)
    if extra < 0 and tuple(n for n in x.shape if n != 1) == tuple(n for n in shape if n != 1):
        found: Any = x
        for axis in reversed(range(x.ndim)):
            if found.ndim > len(shape) and found.shape[axis] == 1:
                found = selected(found, axis, 0)
        return found
    raise RuntimeError("reshape is not implemented for sparse tensors")


def stacked(arrays: Sequence[Any], axis: int = 0, **_: Any) -> CooArray:
    """Stack arrays along a new dimension."""
    return joined([expanded(a, axis) for a in arrays], axis)


MOVES: dict[Any, Callable[..., Any]] = {
    np.take: lambda x, index, axis=None, **_: taken(x, index, axis or 0),
    np.concatenate: joined,
    np.stack: stacked,
    np.expand_dims: lambda x, axis: expanded(x, axis if isinstance(axis, int) else axis[0]),
    np.reshape: reshaped,
}
