"""Views of another array's memory: another shape, another order of dimensions, one index of a dimension.

A view on a GPU is arithmetic on a shape, strides and an address, done here in Python, so neither it nor its
source needs a CuPy array. One is made when something asks for it, by the same step from its
source's (`how`), so that memory has the same owner on both sides.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

_new: Any = object.__new__
_ALL = slice(None)
_TURNED = ("transpose", (1, 0))


@lru_cache(maxsize=4096)  # the same shapes recur at every step
def bytes_by_rows(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Strides in bytes of a row-major array."""
    strides, step = [], size
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


@lru_cache(maxsize=4096)
def is_by_rows(shape: tuple[int, ...], strides: tuple[int, ...], size: int) -> bool:
    """Whether elements are contiguous in row-major order; a dimension of one may have any stride."""
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1:
            if stride != size:
                return False
            size *= extent
    return True


def _over(x: Any, shape: tuple[int, ...], ptr: int, how: tuple[Any, ...]) -> Any:
    """An array over the memory of x."""
    out = _new(type(x))
    out.shape = shape
    out.dtype = x.dtype
    out.ptr = ptr
    out.memory = None
    out.source = x
    out.how = how
    return out


def is_made_by_rows(x: Any) -> bool:
    """Whether an array is known to be row-major because it was made so."""
    source = x.source
    return x.memory is not None if source is None else x.how[0] == "reshape"


def reshaped(x: Any, shape: Any) -> Any:
    """The elements in another shape, if they are row-major; else None."""
    if not x.dense:
        return None
    if type(shape) is not tuple:
        shape = (shape,) if type(shape) is int else tuple(shape)
    size = x.size
    if -1 in shape:
        known = -prod(shape)
        if known <= 0 or size % known:
            return None
        shape = tuple([size // known if n == -1 else n for n in shape])
    if not size or prod(shape) != size:
        return None
    source = x.source
    if source is None or x.how[0] != "reshape":
        source = x
    out = _over(source, shape, x.ptr, ("reshape", shape))
    out.size = size
    out.dense = True
    return out


def transposed(x: Any, axes: Any = None) -> Any:
    """The dimensions in another order; None if `axes` is not a permutation."""
    shape, strides = x.shape, x.strides
    rank = len(shape)
    if axes is None:
        order = (1, 0) if rank == 2 else tuple(range(rank - 1, -1, -1))
    else:
        order = tuple([a + rank if a < 0 else a for a in axes])
        if len(order) != rank or len(set(order)) != rank or max(order, default=0) >= rank:
            return None
    source, whole = x, order
    if x.source is not None and x.how[0] == "transpose":  # compose both
        source, before = x.source, x.how[1]
        whole = tuple([before[a] for a in order])
    if order == (1, 0):
        out = _over(source, shape[::-1], x.ptr, ("transpose", whole))
        out.strides = strides[::-1]
    else:
        out = _over(source, tuple([shape[a] for a in order]), x.ptr, ("transpose", whole))
        out.strides = tuple([strides[a] for a in order])
    return out


def turned(x: Any) -> Any:
    """A matrix transposed: `transposed`, in fewer steps."""
    shape, source = x.shape, x.source
    if len(shape) != 2 or (source is not None and x.how[0] == "transpose"):
        return transposed(x)
    out = _over(x, shape[::-1], x.ptr, _TURNED)
    out.strides = x.strides[::-1]
    return out


def swapped(x: Any, first: int, second: int) -> Any:
    """Two dimensions swapped; None if they do not exist."""
    rank = len(x.shape)
    if not (-rank <= first < rank and -rank <= second < rank):
        return None
    order = list(range(rank))
    order[first], order[second] = order[second], order[first]
    return transposed(x, order)


def expanded(x: Any, axis: Any) -> Any:
    """With an extra dimension of one; None if there are several, or it is out of range."""
    shape = x.shape
    rank = len(shape) + 1
    if type(axis) is not int or not -rank <= axis < rank:
        return None
    at = axis % rank
    return reshaped(x, (*shape[:at], 1, *shape[at:]))


def picked(x: Any, index: Any) -> Any:
    """`x[i]` and `x[:, i]` for integers; None for any other index."""
    dim = 0
    if type(index) is tuple:
        if index and index[-1] is Ellipsis:
            index = index[:-1]
        dim = len(index) - 1
        if dim < 0 or any(i != _ALL for i in index[:dim] if type(i) is slice):
            return None
        if any(type(i) is not slice for i in index[:dim]):
            return None
        index = index[dim]
    shape = x.shape
    if type(index) is not int or dim >= len(shape) or not -shape[dim] <= index < shape[dim]:
        return None
    index %= shape[dim]
    strides = x.strides
    ptr = x.ptr + index * strides[dim]
    out = _over(
        x, (*shape[:dim], *shape[dim + 1 :]), ptr, ("__getitem__", (*(_ALL,) * dim, index, ...))
    )
    out.strides = (*strides[:dim], *strides[dim + 1 :])
    return out


def strided(x: Any, shape: Any, strides: Any, offset: int) -> Any:
    """Any shape and strides, in bytes, from `offset` bytes after the first element of x."""
    out = _over(x, tuple(shape), x.ptr + offset, ("strided", tuple(shape), tuple(strides), offset))
    out.strides = tuple(strides)
    return out


def raw_of(x: Any, backend: Any) -> Any:
    """The CuPy array of a view made without one; it is cached.

    If another thread asks at the same time, both get one over the same memory.
    """
    views = []
    while x.source is not None and not _has_raw(x):
        views.append(x)
        x = x.source
    memory = x.memory
    if memory is not None:
        x.raw = backend.array(x.shape, x.dtype, memory)
        x.memory = None  # the array owns it now
    raw = x.raw
    for view in reversed(views):
        name, *given = view.how
        if name == "strided":
            raw = backend.strided(raw, *given)
        else:
            raw = backend.as_array(getattr(raw, name)(*given))
        view.raw = raw
    return raw


def _has_raw(x: Any) -> bool:
    try:
        object.__getattribute__(x, "raw")
    except AttributeError:
        return False
    return True
