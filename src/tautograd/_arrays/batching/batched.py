"""Arrays with a hidden batch dimension: how `vmap` works without a rule per operation.

Operations are written with NumPy functions, so an array type that implements NumPy's dispatch protocols
can stand for a whole batch: a `BatchedArray` has the shape of *one* example and computes all of
them at once. Each NumPy function has a batching rule (`batch_rules`, loaded lazily); one
without is run `one_by_one`, so that every function works.

Nested `vmap`s nest these arrays; `level` says which one a batch belongs to, and the innermost (highest)
level is peeled off first (`batch_levels`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin


class BatchedShape(tuple[int, ...]):
    """The shape of one example. Deliberately unequal to the same shape without this batch: where the
    two meet (a gradient and its tensor), something has to be summed over the batch."""

    levels: tuple[int, ...]  # of the batches hidden here, innermost `vmap` first
    sizes: tuple[int, ...]  # of those batches

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, other) is True and getattr(other, "levels", ()) == self.levels

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


class NoArray(RuntimeError, AttributeError):
    """What a batch has not, because it is no array; to whoever catches or prints it, a RuntimeError."""

    def __reduce__(self) -> tuple[Any, ...]:
        return RuntimeError, self.args


NoArray.__name__ = NoArray.__qualname__ = "RuntimeError"
NoArray.__module__ = "builtins"
_OF_ARRAYS = frozenset(
    [name for name in dir(np.ndarray) if not name.startswith("_")]
    + ["__dlpack__", "__array_interface__"]
)


class BatchedArray(NDArrayOperatorsMixin):
    """A batch of arrays that looks like one of them; the batch is axis 0 of `data`."""

    __slots__ = ("data", "level")

    def __init__(self, data: Any, level: int) -> None:
        self.data = data
        self.level = level

    @property
    def shape(self) -> BatchedShape:
        shape = BatchedShape(self.data.shape[1:])
        inner = self.data.shape
        shape.levels = (self.level, *getattr(inner, "levels", ()))
        shape.sizes = (inner[0], *getattr(inner, "sizes", ()))
        return shape

    @property
    def ndim(self) -> int:
        return len(self.data.shape) - 1

    @property
    def size(self) -> int:
        count = 1
        for n in self.data.shape[1:]:
            count *= n
        return count

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(self.data.strides[1:])

    def astype(self, dtype: Any, copy: bool = True) -> BatchedArray:
        return BatchedArray(np.astype(self.data, dtype, copy=copy), self.level)

    def view(self, dtype: Any) -> BatchedArray:
        return BatchedArray(self.data.view(dtype), self.level)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a 0-d tensor")
        return int(self.data.shape[1])

    def __repr__(self) -> str:
        return f"BatchedArray(level={self.level}, data={self.data!r})"

    def __getattr__(self, name: str) -> Any:
        if name in _OF_ARRAYS:
            self.__array__()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise NoArray(
            "vmap: a value of the batch was asked for as an array; it has one per example. Use "
            "operations on tensors inside the function given to vmap."
        )

    def _no_value(self, *args: Any) -> Any:
        raise RuntimeError(
            "vmap: It looks like you're calling .item() on a Tensor (or using it as a Python number or "
            "in data-dependent control flow, as in `if x:`). We don't support vmap over calling .item() on "
            "a Tensor, please try to rewrite what you're doing with other operations."
        )

    __float__ = __int__ = __bool__ = __index__ = __complex__ = item = tolist = _no_value

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    # --- dispatch ------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        from .rules import ufunc_on_batches

        if any(hasattr(x, "takes_precedence") for x in args):
            return NotImplemented
        return ufunc_on_batches(ufunc, method, innermost(args, kwargs), args, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if any(hasattr(kind, "takes_precedence") for kind in types):
            return NotImplemented
        level = innermost(args, kwargs)
        if level < 0:  # np.arange(n, like=x): a new array, the same for every example
            return function(*args, like=self.data, **kwargs)
        from .rules import function_on_batches

        return function_on_batches(function, level, args, kwargs)

    def __getitem__(self, index: Any) -> BatchedArray:
        index = index if isinstance(index, tuple) else (index,)
        if any(isinstance(i, BatchedArray) for i in index) or _scattered(index):
            from .loop_fallback import one_by_one

            arguments = (self, *index)
            return one_by_one(lambda x, *i: x[i], innermost(arguments, {}), arguments, {})  # type: ignore[no-any-return]
        return BatchedArray(self.data[(slice(None), *index)], self.level)

    def __setitem__(self, index: Any, value: Any) -> None:
        index = index if isinstance(index, tuple) else (index,)
        level = innermost((self, *index, value), {})
        if level != self.level:
            raise RuntimeError(UNBATCHED_WRITE)
        plain = not any(isinstance(i, BatchedArray) for i in index) and not _scattered(index)
        if plain and not isinstance(value, BatchedArray):
            self.data[(slice(None), *index)] = value
            return
        from .loop_fallback import example

        for b in range(self.data.shape[0]):
            chosen = tuple(example(i, level, b) for i in index)
            self.data[b][chosen] = example(value, level, b)


UNBATCHED_WRITE = (
    "vmap: a tensor that is not part of the batch is being written in place with values that differ from "
    "example to example. Use an out-of-place operation, or make the tensor inside the function."
)


def _scattered(index: tuple[Any, ...]) -> bool:
    """Whether arrays in an index are separated by slices: NumPy then moves their dimension to the front."""
    places = [k for k, i in enumerate(index) if hasattr(i, "dtype") or isinstance(i, list)]
    if not places:
        return False
    if any(isinstance(i, (int, np.integer)) for i in index):
        places = [
            k
            for k, i in enumerate(index)
            if not (isinstance(i, slice) or i is None or i is Ellipsis)
        ]
    return places[-1] - places[0] + 1 != len(places)


def innermost(args: Any, kwargs: Any) -> int:
    """The highest level of batch among these arguments (also inside lists)."""
    best = -1
    for value in (*args, *kwargs.values()):
        if isinstance(value, BatchedArray):
            best = max(best, value.level)
        elif isinstance(value, (list, tuple)):
            best = max(best, innermost(value, {}))
    return best


def is_batched(value: Any, level: int) -> bool:
    return isinstance(value, BatchedArray) and value.level == level


def batch_size(values: Any, level: int) -> int:
    for value in values:
        if is_batched(value, level):
            return int(value.data.shape[0])
        if isinstance(value, (list, tuple)):
            found = batch_size(value, level)
            if found >= 0:
                return found
    return -1


def materialize(value: Any, level: int, size: int) -> Any:
    """The full batch of a value: its data, or one copy per example."""
    if is_batched(value, level):
        return value.data
    if not hasattr(value, "shape"):
        value = np.asarray(value)
    return np.broadcast_to(value, (size, *value.shape))
