"""Shape functions on distributed arrays: where the cut goes when dimensions are moved, added or removed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._array import DistributedArray
from .placement_types import Placement, Shard


def _moved(x: Any, local: Any, new_place: Any, shape: tuple[int, ...]) -> DistributedArray:
    """The local result, with each cut dimension at its `new_place`."""
    placements = tuple(Shard(new_place(p.dim)) if isinstance(p, Shard) else p for p in x.placements)
    return DistributedArray(local, x.mesh, placements, shape)


def _permuted(x: DistributedArray, axes: tuple[int, ...]) -> DistributedArray:
    axes = tuple(a % x.ndim for a in axes)
    return _moved(x, np.transpose(x.local, axes), axes.index, tuple(x.shape[a] for a in axes))


def _transpose(x: Any, axes: Any = None) -> Any:
    return _permuted(x, tuple(range(x.ndim))[::-1] if axes is None else tuple(axes))


def _swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    axes = list(range(x.ndim))
    axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    return _permuted(x, tuple(axes))


def _moveaxis(x: Any, source: Any, destination: Any) -> Any:
    order = np.moveaxis(np.empty(tuple(range(1, x.ndim + 1))), source, destination).shape
    return _permuted(x, tuple(n - 1 for n in order))


def _matrix_transpose(x: Any) -> Any:
    return _swapaxes(x, -1, -2)


def _expand_dims(x: Any, axis: Any) -> Any:
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    rank = x.ndim + len(axes)
    new = {a % rank for a in axes}
    old = [d for d in range(rank) if d not in new]
    shape = [1] * rank
    for place, extent in zip(old, x.shape, strict=True):
        shape[place] = extent
    return _moved(x, np.expand_dims(x.local, axis), old.__getitem__, tuple(shape))


def _squeeze(x: Any, axis: Any = None) -> Any:
    if axis is None:
        axes = [d for d, n in enumerate(x.shape) if n == 1]
    else:
        axes = [a % x.ndim for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    if any(isinstance(p, Shard) and p.dim in axes for p in x.placements):
        return NotImplemented
    shape = tuple(n for d, n in enumerate(x.shape) if d not in axes)
    return _moved(
        x, np.squeeze(x.local, tuple(axes)), lambda d: d - sum(a < d for a in axes), shape
    )


def _broadcast_to(x: Any, shape: Any, subok: bool = False) -> Any:
    if not isinstance(x, DistributedArray):
        return NotImplemented
    shape = tuple(shape) if np.iterable(shape) else (shape,)
    extra = len(shape) - x.ndim
    for p in x.placements:
        if isinstance(p, Shard) and x.shape[p.dim] != shape[p.dim + extra]:
            return NotImplemented
    local = list(shape)
    for p in x.placements:
        if isinstance(p, Shard):
            local[p.dim + extra] = x.local.shape[p.dim]
    return _moved(x, np.broadcast_to(x.local, tuple(local)), lambda d: d + extra, shape)


def _product(extents: Any) -> int:
    count = 1
    for extent in extents:
        count *= extent
    return count


def _reshape(x: Any, shape: Any = None, order: str = "C", copy: Any = None, **_: Any) -> Any:
    """A cut is kept if the same number of elements lie before it and both lengths divide evenly."""
    if shape is None or order not in ("C", "K", "A"):
        return NotImplemented
    wanted = [int(n) for n in (shape if np.iterable(shape) else (shape,))]
    if -1 in wanted:
        known = _product(n for n in wanted if n != -1)
        wanted[wanted.index(-1)] = x.size // known if known else 0
    local = list(wanted)
    placements: list[Placement] = []
    for i, p in enumerate(x.placements):
        if not isinstance(p, Shard):
            placements.append(p)
            continue
        before, parts = _product(x.shape[: p.dim]), x.mesh.size(i)
        fits = [d for d in range(len(wanted)) if _product(wanted[:d]) == before]
        fits = [d for d in fits if wanted[d] % parts == 0 and wanted[d]]
        nested = sum(q.is_shard(p.dim) for q in x.placements) > 1
        if not fits or nested or x.shape[p.dim] % parts:
            return NotImplemented
        placements.append(Shard(fits[-1]))
        local[fits[-1]] //= parts
    found = np.reshape(x.local, tuple(local))
    if found.size and not np.may_share_memory(found, x.local):
        found.flags.writeable = False  # a write to this copy would be lost
    return DistributedArray(found, x.mesh, tuple(placements), tuple(wanted))


def _ravel(x: Any, order: str = "C") -> Any:
    return _reshape(x, (-1,), order)


def _concatenate(arrays: Any, axis: Any = 0, out: Any = None, **options: Any) -> Any:
    return _together(np.concatenate, arrays, axis, out, options, stacked=False)


def _stack(arrays: Any, axis: Any = 0, out: Any = None, **options: Any) -> Any:
    return _together(np.stack, arrays, axis, out, options, stacked=True)


def _together(
    function: Any, arrays: Any, axis: Any, out: Any, options: Any, *, stacked: bool
) -> Any:
    arrays = list(arrays)
    if out is not None or axis is None:
        return NotImplemented
    if not all(isinstance(a, DistributedArray) for a in arrays):
        return NotImplemented
    first = arrays[0]
    axis %= first.ndim + stacked
    if any(a.placements != first.placements or a.ndim != first.ndim for a in arrays):
        return NotImplemented
    if not stacked and any(p.is_shard(axis) for p in first.placements):
        return NotImplemented
    local = function([a.local for a in arrays], axis=axis, **options)
    if stacked:
        shape = (*first.shape[:axis], len(arrays), *first.shape[axis:])
        return _moved(first, local, lambda d: d + (d >= axis), shape)
    shape = list(first.shape)  # type: ignore[assignment]
    shape[axis] = sum(a.shape[axis] for a in arrays)  # type: ignore[index]
    return _moved(first, local, lambda d: d, tuple(shape))


def item_locally(x: DistributedArray, index: Any) -> DistributedArray | None:
    """A view by integers, slices, `...` and None, if it takes all of every cut dimension; else None."""
    index = index if isinstance(index, tuple) else (index,)
    if not all(
        i is None or i is Ellipsis or isinstance(i, (int, np.integer, slice)) for i in index
    ):
        return None
    if any(isinstance(i, bool) for i in index):
        return None
    taken = sum(i is not None and i is not Ellipsis for i in index)
    if taken > x.ndim:
        raise IndexError(
            f"too many indices for array: array is {x.ndim}-dimensional, but {taken} were indexed"
        )
    rest = (slice(None),) * (x.ndim - taken)
    if Ellipsis in index:
        at = index.index(Ellipsis)
        index = (*index[:at], *rest, *index[at + 1 :])
    else:
        index = (*index, *rest)
    went: dict[int, int] = {}
    shape: list[int] = []
    dim = 0
    for i in index:
        if i is None:
            shape.append(1)
            continue
        extent = x.shape[dim]
        if isinstance(i, slice):
            went[dim] = len(shape)
            shape.append(len(range(*i.indices(extent))))
        elif not -extent <= i < extent:
            raise IndexError(f"index {i} is out of bounds for dimension {dim} with size {extent}")
        whole = isinstance(i, slice) and i.indices(extent) == (0, extent, 1)
        if not whole and any(p.is_shard(dim) for p in x.placements):
            return None
        dim += 1
    # With `...` the result is a view even where the index selects a single element.
    return _moved(x, x.local[(*index, ...)], went.__getitem__, tuple(shape))


SHAPE_RULES: dict[Any, Any] = {
    np.transpose: _transpose,
    np.permute_dims: _transpose,
    np.swapaxes: _swapaxes,
    np.moveaxis: _moveaxis,
    np.matrix_transpose: _matrix_transpose,
    np.expand_dims: _expand_dims,
    np.squeeze: _squeeze,
    np.broadcast_to: _broadcast_to,
    np.reshape: _reshape,
    np.ravel: _ravel,
    np.concatenate: _concatenate,
    np.stack: _stack,
}
