"""Shapes and dtypes of the results of NumPy's functions, for arrays without elements.

Elementwise functions broadcast, reductions drop dimensions, products contract them, and views are taken of the
ghost itself. Anything else is run on ghosts, and its result replaced by a ghost of the same shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .ghosts import ghost, ghost_like
from .meta_array import NO_DATA, MetaArray, new, plain
from .products import dot, einsum, generalised, product, tensordot

_SEVERAL = (tuple, list)


def _wrapped(found: Any, views: bool = False) -> Any:
    """Results as arrays without elements; a view of a ghost stays a view."""
    if isinstance(found, np.ndarray):
        return MetaArray(found if views else ghost_like(found))
    if isinstance(found, np.generic):
        return new((), found.dtype)
    if isinstance(found, tuple) and hasattr(found, "_fields"):
        return type(found)(*(_wrapped(f, views) for f in found))
    if type(found) in _SEVERAL:
        return type(found)(_wrapped(f, views) for f in found)
    return found


# --- ufuncs --------------------------------------------------------------------------------------------


def _small(value: Any) -> Any:
    """A one-element stand-in for an argument, to find a result's dtype."""
    if isinstance(value, (MetaArray, np.ndarray)):
        return np.ones((1,) * value.ndim, value.dtype)
    return value


def of_ufunc(ufunc: Any, method: str, args: Any, kwargs: dict[str, Any]) -> Any:
    out = kwargs.get("out")
    if method == "at":
        return None
    if method == "reduce":
        found: Any = _by_ufunc(ufunc, *args, **kwargs)
    elif method != "__call__":
        return run(getattr(ufunc, method), args, kwargs)
    elif ufunc is np.matmul:
        found = product(*args[:2])
    elif ufunc.signature is not None:
        found = generalised(ufunc, args)
    else:
        found = _elementwise(
            ufunc, args, {k: v for k, v in kwargs.items() if k not in ("out", "where")}
        )
    if out is None:
        return found
    given = out if isinstance(out, tuple) else (out,)
    return given[0] if len(given) == 1 else given


def _elementwise(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    shape = np.broadcast_shapes(*(np.shape(plain(a)) for a in args))
    with np.errstate(all="ignore"):
        sample = function(*(_small(a) for a in args), **kwargs)
    likes = [a for a in args if isinstance(a, MetaArray) and a.shape == shape]

    def made(one: Any) -> MetaArray:
        kind = np.asarray(one).dtype
        for like in likes:
            flags = like.flags
            if flags.f_contiguous and not flags.c_contiguous:
                return MetaArray(ghost(shape[::-1], kind).T)
            if not flags.forc:
                break
        return new(shape, kind)

    return tuple(made(one) for one in sample) if isinstance(sample, tuple) else made(sample)


# --- reductions  -----------------------------------------------------------------------------


def _reduced(
    function: Any, x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False
) -> MetaArray:
    shape = x.shape
    given = range(len(shape)) if axis is None else axis
    dims = {int(d) % max(len(shape), 1) for d in np.atleast_1d(np.asarray(given, int))}
    kept = tuple(1 if d in dims else n for d, n in enumerate(shape) if keepdims or d not in dims)
    with np.errstate(all="ignore"):
        sample = function(np.ones((1,), x.dtype), **({"dtype": dtype} if dtype is not None else {}))
    return new(kept, np.asarray(sample).dtype)


def _by_ufunc(
    ufunc: Any, x: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, **_: Any
) -> MetaArray:  # fmt: skip
    """`np.add.reduce` and the like, whose arguments may be positional."""
    return _reduced(ufunc.reduce, x, axis, dtype, keepdims)


def _reduction(function: Any) -> Callable[..., Any]:
    def reduced(x: Any, axis: Any = None, dtype: Any = None, *_: Any, **options: Any) -> MetaArray:
        wants = options.get("keepdims", False)
        kind = dtype if isinstance(dtype, (type, np.dtype)) else None
        return _reduced(function, x, axis, kind, wants is True)

    return reduced


# --- views, copies, joins ----------------------------------------------------------------------------------


def item(x: MetaArray, index: Any) -> Any:
    """`x[index]`: a view, or what index arrays pick; how many elements a mask picks is unknown."""
    index = plain(index)
    parts = index if isinstance(index, tuple) else (index,)
    if any(getattr(p, "dtype", None) == np.bool_ and np.ndim(p) for p in parts):
        raise NotImplementedError(
            "a mask on the device meta: how many elements it picks depends on values that are not there"
        )
    found = x.ghost[index]
    return _wrapped(found, views=not any(isinstance(p, np.ndarray) and p.ndim for p in parts))


def _concatenate(arrays: Any, axis: Any = 0, **_: Any) -> MetaArray:
    shapes = [np.shape(plain(a)) for a in arrays]
    if axis is None or len({len(s) for s in shapes}) != 1:
        return run(np.concatenate, (arrays, axis), {})  # type: ignore[no-any-return]
    at = axis % len(shapes[0])
    if len({(*s[:at], *s[at + 1 :]) for s in shapes}) != 1:
        raise ValueError(
            "all the input array dimensions except for the concatenation axis must match"
        )
    whole = (*shapes[0][:at], sum(s[at] for s in shapes), *shapes[0][at + 1 :])
    return new(whole, np.result_type(*(a.dtype for a in arrays)))


def _stack(arrays: Any, axis: int = 0, **_: Any) -> MetaArray:
    shape = arrays[0].shape
    at = axis % (len(shape) + 1)
    whole = (*shape[:at], len(arrays), *shape[at:])
    return new(whole, np.result_type(*(a.dtype for a in arrays)))


def _take(x: Any, index: Any, axis: Any = None, **_: Any) -> MetaArray:
    shape, picked = np.shape(plain(x)), np.shape(plain(index))
    if axis is None:
        return new(picked, x.dtype)
    at = axis % len(shape)
    return new((*shape[:at], *picked, *shape[at + 1 :]), x.dtype)


def _like(
    x: Any, *args: Any, dtype: Any = None, order: str = "K", shape: Any = None, **_: Any
) -> MetaArray:
    kind = dtype if dtype is not None else x.dtype
    if shape is not None:
        return new(shape, kind)
    if order == "K" and x.flags.f_contiguous and not x.flags.c_contiguous:
        return MetaArray(ghost(x.shape[::-1], kind).T)
    return new(x.shape, kind)


def _copy(x: Any, order: str = "K", subok: bool = False) -> MetaArray:
    return MetaArray(ghost(x.shape, x.dtype) if order == "C" else ghost_like(x.ghost))


def _unknown(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"{name} on the device meta: the shape of its result depends on values that are not there"
        )

    return refuse


def _views(function: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: _wrapped(function(*plain(args), **plain(kwargs)), views=True)


def run(function: Any, args: Any, kwargs: Any) -> Any:
    """A function without a rule: run on ghosts, discarding the elements of the result."""
    try:
        with np.errstate(all="ignore"):
            return _wrapped(function(*plain(args), **plain(kwargs)))
    except np.linalg.LinAlgError:
        raise NotImplementedError(NO_DATA) from None


def of_function(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    kwargs = {k: v for k, v in kwargs.items() if k != "like"}
    if function.__name__ in ("empty", "zeros", "ones") and args:
        return new(args[0], kwargs.get("dtype", args[1] if len(args) > 1 else np.float64))
    rule = FUNCTIONS.get(function)
    return run(function, args, kwargs) if rule is None else rule(*args, **kwargs)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{f: _reduction(f) for f in (np.sum, np.mean, np.max, np.min, np.amax, np.amin, np.prod, np.any)},
    **{f: _reduction(f) for f in (np.all, np.var, np.std, np.argmax, np.argmin, np.count_nonzero)},
    **{f: _views(f) for f in (np.reshape, np.transpose, np.swapaxes, np.moveaxis, np.expand_dims)},
    **{f: _views(f) for f in (np.squeeze, np.broadcast_to, np.diagonal, np.flip, np.split, np.real)},
    **{f: _views(f) for f in (np.array_split, np.rollaxis, np.matrix_transpose, np.permute_dims)},
    **dict.fromkeys((np.empty_like, np.zeros_like, np.ones_like), _like),
    **{f: _unknown(f.__name__) for f in (np.nonzero, np.flatnonzero, np.argwhere, np.unique, np.bincount)},
    np.full_like: lambda x, fill_value, *args, **options: _like(x, *args, **options),
    np.copy: _copy,
    np.astype: lambda x, dtype, copy=True, **_: x.astype(dtype, copy=copy),
    np.ascontiguousarray: lambda x, *a, **k: x if x.flags.c_contiguous else new(x.shape, x.dtype),
    np.copyto: lambda target, source, **_: np.broadcast_shapes(target.shape, np.shape(plain(source))) and None,
    np.where: lambda *args: _elementwise(np.where, args, {}),
    np.clip: lambda x, a=None, b=None, **_: _elementwise(np.clip, (x, a, b), {}),
    np.dot: dot,
    np.tensordot: tensordot,
    np.einsum: einsum,
    np.concatenate: _concatenate,
    np.stack: _stack,
    np.take: _take,
    np.take_along_axis: lambda x, index, axis=-1: new(np.shape(plain(index)), x.dtype),
    np.put_along_axis: lambda *args, **kwargs: None,
    np.cumsum: lambda x, axis=None, dtype=None, **_: new(x.shape, dtype or x.dtype),
    np.cumprod: lambda x, axis=None, dtype=None, **_: new(x.shape, dtype or x.dtype),
    np.sort: lambda x, *a, **k: new(x.shape, x.dtype),
    np.argsort: lambda x, *a, **k: new(x.shape, np.int64),
    np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim,
    np.size: lambda x, axis=None: x.size if axis is None else x.shape[axis],
    np.shares_memory: lambda a, b, **_: np.may_share_memory(plain(a), plain(b)),
    np.may_share_memory: lambda a, b, **_: np.may_share_memory(plain(a), plain(b)),
}  # fmt: skip
