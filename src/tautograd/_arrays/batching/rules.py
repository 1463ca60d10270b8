"""NumPy's functions on arrays with a hidden batch dimension: one rule per kind of function.

Elementwise functions align the examples, reductions and shape functions count dimensions from
the second, and so on. A function without a rule is run example by example.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .batched import (
    UNBATCHED_WRITE,
    BatchedArray,
    batch_size,
    innermost,
    is_batched,
    materialize,
)
from .levels import levels_of
from .loop_fallback import one_by_one
from .shapes import SHAPE_FUNCTIONS, shift

# Functions that write into their first argument.
_WRITERS = frozenset((np.put, np.putmask, np.place, np.put_along_axis, np.fill_diagonal))


def ufunc_on_batches(ufunc: Any, method: str, level: int, args: Any, kwargs: Any) -> Any:
    """A ufunc, or one of its methods, on arguments some of which hide this level's batch."""
    if method == "__call__":
        if ufunc.signature is not None:
            return _core_ufunc(ufunc, level, args, kwargs)
        return _elementwise(ufunc, level, args, kwargs)
    if method in ("reduce", "accumulate"):
        return _along_axes(getattr(ufunc, method), level, args, {"axis": 0, **kwargs})
    if method == "at" and not is_batched(args[0], level):
        raise RuntimeError(UNBATCHED_WRITE)
    return one_by_one(getattr(ufunc, method), level, args, kwargs)


def function_on_batches(function: Any, level: int, args: Any, kwargs: Any) -> Any:
    """Any other NumPy function."""
    rule = RULES.get(function)
    if rule is not None:
        return rule(function, level, args, kwargs)
    if function in _WRITERS and not is_batched(args[0], level):
        raise RuntimeError(UNBATCHED_WRITE)
    return one_by_one(function, level, args, kwargs)


def _aligned(values: Any, level: int) -> list[Any]:
    """The batched values' data with ranks padded, so that broadcasting aligns the examples."""
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
            raise RuntimeError(UNBATCHED_WRITE)
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
            # NumPy reduces a 0-d example to itself; for a batch a length-1 axis has the same effect, and is dropped.
            kwargs.pop("keepdims", None)
            return BatchedArray(function(np.expand_dims(x.data, 1), axis=1, **kwargs), level)
        if function in _ONE_AXIS:
            flat = np.reshape(x.data, (x.data.shape[0], -1))
            return BatchedArray(function(flat, axis=1, **kwargs), level)
    elif isinstance(axis, tuple):
        axis = tuple(shift(a) for a in axis)
    else:
        axis = shift(axis)
        if x.ndim == 0:
            kwargs.pop("keepdims", None)
            return BatchedArray(function(np.expand_dims(x.data, 1), axis=1, **kwargs), level)
    result = function(x.data, axis=axis, **kwargs)
    return BatchedArray(result, level)


_ONE_AXIS = {np.argmax, np.argmin, np.cumsum, np.cumprod, np.sort, np.argsort}


def _shapes(name: str) -> Callable[..., Any]:
    """A rule for functions of one array whose parameters name its dimensions."""

    def rule(function: Any, level: int, args: Any, kwargs: Any) -> Any:
        x = args[0]
        return BatchedArray(SHAPE_FUNCTIONS[name](x.data, *args[1:], **kwargs), level)

    return rule


def _like(function: Any, level: int, args: Any, kwargs: Any) -> Any:
    """`zeros_like` and the like: one result per example, so that it is writable."""
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


def _data_of(value: Any, level: int) -> Any:
    return value.data if is_batched(value, level) else value


def _same_shape(function: Any, level: int, args: Any, kwargs: Any) -> Any:
    """Functions of one array that treat every element, or the last dimensions, alike."""
    return BatchedArray(function(_data_of(args[0], level), *args[1:], **kwargs), level)


def _joined(function: Any, level: int, args: Any, kwargs: Any) -> Any:
    arrays, *rest = args
    kwargs = dict(kwargs)
    axis = rest.pop(0) if rest else kwargs.pop("axis", 0)
    out = kwargs.pop("out", None)
    size = batch_size(arrays, level)
    full = [materialize(a, level, size) for a in arrays]
    result = function(full, axis=shift(axis), **kwargs)
    if is_batched(out, level) and levels_of(out.data) == levels_of(result):
        np.copyto(out.data, result)
        return out
    return BatchedArray(result, level)  # an `out` without a batch could not hold one


def _take_along(function: Any, level: int, args: Any, kwargs: Any) -> Any:
    x, index, *rest = args
    axis = rest[0] if rest else kwargs["axis"]
    size = batch_size((x, index), level)
    full = (materialize(x, level, size), materialize(index, level, size))
    return BatchedArray(function(*full, axis=shift(axis)), level)


def _copyto(function: Any, level: int, args: Any, kwargs: Any) -> None:
    target, source = args
    if not is_batched(target, level):
        raise RuntimeError(UNBATCHED_WRITE)
    if is_batched(source, level):
        missing = len(target.data.shape) - len(source.data.shape)
        shape = source.data.shape
        source = np.reshape(source.data, (shape[0], *(1,) * missing, *shape[1:]))
    np.copyto(target.data, source, **kwargs)


def _matrices(function: Any, level: int, args: Any, kwargs: Any) -> Any:
    """Linear algebra on the last two dimensions of one array."""
    result = function(_data_of(args[0], level), *args[1:], **kwargs)
    if isinstance(result, tuple):
        parts = [BatchedArray(r, level) for r in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    return BatchedArray(result, level)


RULES: dict[Any, Callable[..., Any]] = {np.where: _elementwise, np.astype: _same_shape}
for _name in SHAPE_FUNCTIONS:
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
