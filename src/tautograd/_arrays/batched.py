"""Arrays with a hidden batch dimension: how `vmap` works without a rule per operation.

Operations are written with NumPy functions, so an array type that answers NumPy's dispatch protocols
can stand for a whole batch: a `BatchedArray` shows the shape of *one* example and computes all of
them at once. Each NumPy function has a batching rule here (elementwise, reduction, shape, …); one
without is run example by example and stacked, so that every function works.

Nested `vmap`s nest these arrays; `level` says which one a batch belongs to, and the innermost (highest)
level is peeled off first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin


class BatchedShape(tuple[int, ...]):
    """The shape of one example. Unequal to the same shape without this batch, on purpose: where the
    two meet (a gradient and its tensor) something has to be summed over the batch."""

    levels: tuple[int, ...]  # of the batches hidden here, innermost `vmap` first
    sizes: tuple[int, ...]  # of those batches

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, other) is True and getattr(other, "levels", ()) == self.levels

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


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

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
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
        level = innermost(args, kwargs)
        if method == "__call__":
            if ufunc.signature is not None:
                return _core_ufunc(ufunc, level, args, kwargs)
            return _elementwise(ufunc, level, args, kwargs)
        if method in ("reduce", "accumulate"):
            return _along_axes(getattr(ufunc, method), level, args, {"axis": 0, **kwargs})
        if method == "at" and not is_batched(args[0], level):
            raise RuntimeError(_WRITE)
        return one_by_one(getattr(ufunc, method), level, args, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        level = innermost(args, kwargs)
        if level < 0:  # np.arange(n, like=x): made anew, the same for every example
            return function(*args, like=self.data, **kwargs)
        rule = RULES.get(function)
        if rule is None:
            if function in _WRITERS and not is_batched(args[0], level):
                raise RuntimeError(_WRITE)
            return one_by_one(function, level, args, kwargs)
        return rule(function, level, args, kwargs)

    def __getitem__(self, index: Any) -> BatchedArray:
        index = index if isinstance(index, tuple) else (index,)
        if any(isinstance(i, BatchedArray) for i in index) or _scattered(index):
            return one_by_one(lambda x, *i: x[i], innermost((self, *index), {}), (self, *index), {})  # type: ignore[no-any-return]
        return BatchedArray(self.data[(slice(None), *index)], self.level)

    def __setitem__(self, index: Any, value: Any) -> None:
        index = index if isinstance(index, tuple) else (index,)
        level = innermost((self, *index, value), {})
        if level != self.level:
            raise RuntimeError(_WRITE)
        plain = not any(isinstance(i, BatchedArray) for i in index) and not _scattered(index)
        if plain and not isinstance(value, BatchedArray):
            self.data[(slice(None), *index)] = value
            return
        for b in range(self.data.shape[0]):
            chosen = tuple(_example(i, level, b) for i in index)
            self.data[b][chosen] = _example(value, level, b)


_WRITE = (
    "vmap: a tensor that is not part of the batch is being written in place with values that differ from "
    "example to example. Use an out-of-place operation, or make the tensor inside the function."
)


# Functions that write into their first argument.
_WRITERS = frozenset((np.put, np.putmask, np.place, np.put_along_axis, np.fill_diagonal))


def _scattered(index: tuple[Any, ...]) -> bool:
    """Whether arrays in an index are parted by slices: NumPy then moves their dimension in front."""
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


def _peel(value: Any, level: int) -> Any:
    return value.data if is_batched(value, level) else value


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
    """The full batch of a value: its data, or one copy of it per example."""
    if is_batched(value, level):
        return value.data
    if not hasattr(value, "shape"):
        value = np.asarray(value)
    return np.broadcast_to(value, (size, *value.shape))


# Batches lie in order, the innermost (highest) level outside. So a level that is closed already, in a
# graph that is run backward inside of newer ones, is put and found beneath those.


def put_level(array: Any, axis: int, level: int) -> Any:
    """An array as one example of itself along `axis` (not negative)."""
    if isinstance(array, BatchedArray) and array.level > level:
        return BatchedArray(put_level(array.data, axis + 1, level), array.level)
    return BatchedArray(np.moveaxis(array, axis, 0), level)


def take_level(array: Any, axis: int, level: int, size: int) -> Any:
    """All examples of an array, along `axis`, in memory of their own."""
    if isinstance(array, BatchedArray) and array.level > level:
        return BatchedArray(take_level(array.data, axis + 1, level, size), array.level)
    return np.moveaxis(np.copy(materialize(array, level, size)), 0, axis)


def show_level(array: Any, axis: int, level: int) -> Any:
    """The examples of one level, which the array has, along `axis`, where they are."""
    if array.level > level:
        return BatchedArray(show_level(array.data, axis + 1, level), array.level)
    return np.moveaxis(array.data, 0, axis)


def batched_like(array: Any, shape: Any) -> Any:
    """The same array for each example, in memory of its own, of the batches that a shape hides."""
    levels = getattr(shape, "levels", ())
    if not levels:
        return array
    return with_levels(np.broadcast_to(array, (*shape.sizes[::-1], *array.shape)).copy(), levels)


def levels_of(array: Any) -> tuple[int, ...]:
    """The levels whose batches an array hides, innermost `vmap` first."""
    found = []
    while isinstance(array, BatchedArray):
        found.append(array.level)
        array = array.data
    return tuple(found)


def bottom(array: Any) -> Any:
    """The array underneath, with all its batches in front."""
    while isinstance(array, BatchedArray):
        array = array.data
    return array


def with_levels(array: Any, levels: tuple[int, ...]) -> Any:
    """The same batches as those of other levels: what one run made, for the graph of another."""
    array = bottom(array)
    for level in reversed(levels):
        array = BatchedArray(array, level)
    return array


def sum_level(array: Any, level: int) -> Any:
    """Sum over the batch of one level, which may lie under others."""
    if array.level == level:
        return np.sum(array.data, axis=0)
    return BatchedArray(sum_level(array.data, level), array.level)


def _example(value: Any, level: int, b: int) -> Any:
    if is_batched(value, level):
        return value.data[b]
    if isinstance(value, (list, tuple)):
        return type(value)(_example(v, level, b) for v in value)
    return value


def one_by_one(function: Callable[..., Any], level: int, args: Any, kwargs: Any) -> Any:
    """Run a function on each example and stack what it returns."""
    size = batch_size((*args, *kwargs.values()), level)
    results = [
        function(
            *(_example(a, level, b) for a in args),
            **{k: _example(v, level, b) for k, v in kwargs.items()},
        )
        for b in range(size)
    ]
    return _stack(results, level)


def _stack(results: list[Any], level: int) -> Any:
    first = results[0]
    if first is None:
        return None
    if isinstance(first, (tuple, list)):
        parts = [_stack(list(column), level) for column in zip(*results, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    return BatchedArray(
        np.stack([r if hasattr(r, "shape") else np.asarray(r) for r in results]), level
    )


# --- rules -----------------------------------------------------------------------------------------


def _aligned(values: Any, level: int) -> list[Any]:
    """Data of the batched values with ranks padded, so that broadcasting lines the examples up."""
    rank = max((len(v.shape) for v in values if hasattr(v, "shape")), default=0)
    out = []
    for v in values:
        if is_batched(v, level):
            data = v.data
            missing = rank - (len(data.shape) - 1)
            if missing:
                data = np.reshape(data, (data.shape[0], *(1,) * missing, *data.shape[1:]))
            out.append(data)
        else:
            out.append(v)
    return out


def _elementwise(function: Any, level: int, args: Any, kwargs: Any) -> Any:
    kwargs = dict(kwargs)
    out = kwargs.pop("out", None)
    data = _aligned(args, level)
    if out is not None:
        target = out[0] if isinstance(out, tuple) else out
        if not is_batched(target, level):
            raise RuntimeError(_WRITE)
        function(*data, out=target.data, **kwargs)
        return target
    result = function(*data, **kwargs)
    if isinstance(result, tuple):
        return tuple(BatchedArray(r, level) for r in result)
    return BatchedArray(result, level)


def _core_ufunc(ufunc: Any, level: int, args: Any, kwargs: Any) -> Any:
    """matmul: the batch goes in front of the loop dimensions; vectors become matrices for it."""
    if ufunc is np.vecdot and not kwargs:
        return BatchedArray(ufunc(*_aligned(args, level)), level)
    if ufunc is not np.matmul or kwargs or len(args) != 2:
        return one_by_one(ufunc, level, args, kwargs)
    x, y = args
    x_vector, y_vector = len(x.shape) == 1, len(y.shape) == 1
    x = np.expand_dims(x, 0) if x_vector else x
    y = np.expand_dims(y, 1) if y_vector else y
    rank = max(len(x.shape), len(y.shape))

    def pad(v: Any) -> Any:
        if not is_batched(v, level):
            return v
        shape = v.data.shape
        return np.reshape(v.data, (shape[0], *(1,) * (rank - len(shape) + 1), *shape[1:]))

    out = np.matmul(pad(x), pad(y))
    if y_vector:
        out = out[..., 0]
    if x_vector:
        out = out[..., 0, :] if not y_vector else out[..., 0]
    return BatchedArray(out, level)


def _shift(axis: int) -> int:
    """An axis of one example as an axis of the batch; negative ones are the same."""
    return axis + 1 if axis >= 0 else axis


def _along_axes(function: Any, level: int, args: Any, kwargs: Any) -> Any:
    """Reductions and the like: `axis` counts an example's dimensions, None means all of them."""
    x, *rest = args
    kwargs = dict(kwargs)
    axis = rest.pop(0) if rest else kwargs.pop("axis", None)
    if rest or not is_batched(x, level):
        return one_by_one(function, level, args, kwargs)
    if axis is None:
        axis = tuple(range(1, len(x.data.shape)))
        if not axis:
            # NumPy reduces a 0-d example to itself; a length-1 axis does the same for a batch.
            return BatchedArray(function(np.expand_dims(x.data, 1), axis=1, **kwargs), level)
        if function in _ONE_AXIS:
            flat = np.reshape(x.data, (x.data.shape[0], -1))
            return BatchedArray(function(flat, axis=1, **kwargs), level)
    elif isinstance(axis, tuple):
        axis = tuple(_shift(a) for a in axis)
    else:
        axis = _shift(axis)
        if x.ndim == 0:
            return BatchedArray(function(np.expand_dims(x.data, 1), axis=1, **kwargs), level)
    result = function(x.data, axis=axis, **kwargs)
    return BatchedArray(result, level)


_ONE_AXIS = {np.argmax, np.argmin, np.cumsum, np.cumprod, np.sort, np.argsort}


def _shapes(name: str) -> Callable[..., Any]:
    """A rule for functions of one array whose parameters name its dimensions."""

    def rule(function: Any, level: int, args: Any, kwargs: Any) -> Any:
        x = args[0]
        return BatchedArray(_RESHAPE[name](x.data, *args[1:], **kwargs), level)

    return rule


def _axes(axis: Any) -> Any:
    return tuple(_shift(a) for a in axis) if isinstance(axis, (tuple, list)) else _shift(axis)


def _transpose(x: Any, axes: Any = None) -> Any:
    rank = len(x.shape) - 1
    axes = tuple(range(rank))[::-1] if axes is None else tuple(a % rank for a in axes)
    return np.transpose(x, (0, *(a + 1 for a in axes)))


def _expand(x: Any, axis: Any) -> Any:
    axes = axis if isinstance(axis, tuple) else (axis,)
    rank = len(x.shape) - 1 + len(axes)
    return np.expand_dims(x, tuple(a % rank + 1 for a in axes))


def _squeeze(x: Any, axis: Any = None) -> Any:
    if axis is None:
        axis = tuple(i - 1 for i, n in enumerate(x.shape) if i and n == 1)
    return np.squeeze(x, _axes(axis))


def _reshape(x: Any, shape: Any, **kwargs: Any) -> Any:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if -1 in shape and 0 in x.shape:
        one = np.empty(x.shape[1:], np.bool_).reshape(shape)
        shape = one.shape
    return np.reshape(x, (x.shape[0], *shape), **kwargs)


def _broadcast(x: Any, shape: Any, **kwargs: Any) -> Any:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    missing = len(shape) - (len(x.shape) - 1)
    x = np.reshape(x, (x.shape[0], *(1,) * missing, *x.shape[1:]))
    return np.broadcast_to(x, (x.shape[0], *shape))


def _diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    found = np.diagonal(x, offset, _shift(axis1), _shift(axis2))
    if type(found) is np.ndarray:  # NumPy's is read-only, though it shares memory
        found.setflags(write=x.flags.writeable)
    return found


def _roll(x: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return np.reshape(np.roll(np.reshape(x, (x.shape[0], -1)), shift, 1), x.shape)
    return np.roll(x, shift, _axes(axis))


def _flip(x: Any, axis: Any = None) -> Any:
    return np.flip(x, tuple(range(1, len(x.shape))) if axis is None else _axes(axis))


_RESHAPE: dict[str, Callable[..., Any]] = {
    "reshape": _reshape,
    "transpose": _transpose,
    "swapaxes": lambda x, a, b: np.swapaxes(x, _shift(a), _shift(b)),
    "moveaxis": lambda x, a, b: np.moveaxis(x, _axes(a), _axes(b)),
    "expand_dims": _expand,
    "squeeze": _squeeze,
    "broadcast_to": _broadcast,
    "diagonal": _diagonal,
    "roll": _roll,
    "flip": _flip,
}


def _like(function: Any, level: int, args: Any, kwargs: Any) -> Any:
    """`zeros_like` and its kin: one result per example, so that it may be written into."""
    x, *rest = args
    kwargs = dict(kwargs)
    if not is_batched(x, level):  # only the fill value is batched
        return one_by_one(function, level, args, kwargs)
    shape = kwargs.pop("shape", None)
    if shape is None:
        shape = x.shape
    full = (x.data.shape[0], *((shape,) if isinstance(shape, int) else tuple(shape)))
    if rest and innermost(rest, {}) == level:
        return one_by_one(function, level, args, {**kwargs, "shape": tuple(shape)})
    return BatchedArray(function(x.data, *rest, shape=full, **kwargs), level)


def _same_shape(function: Any, level: int, args: Any, kwargs: Any) -> Any:
    """Functions of one array that treat every element, or the last dimensions, alike."""
    return BatchedArray(function(_peel(args[0], level), *args[1:], **kwargs), level)


def _joined(function: Any, level: int, args: Any, kwargs: Any) -> Any:
    arrays, *rest = args
    kwargs = dict(kwargs)
    axis = rest.pop(0) if rest else kwargs.pop("axis", 0)
    out = kwargs.pop("out", None)
    size = batch_size(arrays, level)
    full = [materialize(a, level, size) for a in arrays]
    result = function(full, axis=_shift(axis), **kwargs)
    if is_batched(out, level) and levels_of(out.data) == levels_of(result):
        np.copyto(out.data, result)
        return out
    return BatchedArray(result, level)  # an `out` without a batch could not hold one


def _take_along(function: Any, level: int, args: Any, kwargs: Any) -> Any:
    x, index, *rest = args
    axis = rest[0] if rest else kwargs["axis"]
    size = batch_size((x, index), level)
    full = (materialize(x, level, size), materialize(index, level, size))
    return BatchedArray(function(*full, axis=_shift(axis)), level)


def _copyto(function: Any, level: int, args: Any, kwargs: Any) -> None:
    target, source = args
    if not is_batched(target, level):
        raise RuntimeError(_WRITE)
    if is_batched(source, level):
        missing = len(target.data.shape) - len(source.data.shape)
        shape = source.data.shape
        source = np.reshape(source.data, (shape[0], *(1,) * missing, *shape[1:]))
    np.copyto(target.data, source, **kwargs)


def _matrices(function: Any, level: int, args: Any, kwargs: Any) -> Any:
    """Linear algebra on the last two dimensions of one array."""
    result = function(_peel(args[0], level), *args[1:], **kwargs)
    if isinstance(result, tuple):
        parts = [BatchedArray(r, level) for r in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    return BatchedArray(result, level)


RULES: dict[Any, Callable[..., Any]] = {np.where: _elementwise, np.astype: _same_shape}
for _name in _RESHAPE:
    RULES[getattr(np, _name)] = _shapes(_name)
for _name in [
    "sum",
    "prod",
    "mean",
    "max",
    "min",
    "amax",
    "amin",
    "any",
    "all",
    "var",
    "std",
    "argmax",
    "argmin",
    "cumsum",
    "cumprod",
    "sort",
    "argsort",
    "count_nonzero",
    "nansum",
    "nanmean",
    "median",
    "ptp",
]:
    RULES[getattr(np, _name)] = _along_axes
for _name in ["zeros_like", "ones_like", "empty_like", "full_like"]:
    RULES[getattr(np, _name)] = _like
for _name in ["real", "imag", "angle", "real_if_close", "tril", "triu", "nan_to_num", "copy"]:
    RULES[getattr(np, _name)] = _same_shape
for _name in ["concatenate", "stack"]:
    RULES[getattr(np, _name)] = _joined
for _name in [
    "inv",
    "det",
    "slogdet",
    "cholesky",
    "eigh",
    "eigvalsh",
    "svd",
    "qr",
    "eig",
    "eigvals",
    "pinv",
]:
    RULES[getattr(np.linalg, _name)] = _matrices
RULES[np.take_along_axis] = _take_along
RULES[np.copyto] = _copyto
RULES[np.shape] = lambda function, level, args, kwargs: args[0].shape
RULES[np.ndim] = lambda function, level, args, kwargs: args[0].ndim
