"""The table of functions that CuPy does differently from NumPy, or lacks (ufuncs: `cuda_ufuncs`).

Each entry takes NumPy's function and returns one on CuPy's arrays with NumPy's arguments and results.
For what is not listed CuPy's function of the same name is called; what CuPy lacks, NumPy does in main memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .ufuncs import BFLOAT16


def _like(xp: Any, name: str) -> Any:
    """`zeros_like` and the like: CuPy's treat an empty shape as none."""
    like, plain = getattr(xp, f"{name}_like"), getattr(xp, name)

    def call(
        a: Any, *value: Any, dtype: Any = None, order: str = "K", subok: Any = None,
        shape: Any = None, device: Any = None,
    ) -> Any:  # fmt: skip
        if shape is None or (shape != () and not isinstance(shape, int)):
            return like(a, *value, dtype=dtype, order=order, shape=shape)
        return plain(shape, *value, dtype=a.dtype if dtype is None else dtype)

    return call


def where(xp: Any, condition: Any, x: Any, y: Any) -> Any:
    """`np.where`, which in CuPy converts bfloat16 to float32."""
    if x is None and y is None:
        return xp.nonzero(condition)
    if not hasattr(condition, "ndim") or isinstance(condition, np.generic):
        condition = xp.asarray(condition)
    kinds = [v.dtype for v in (x, y) if hasattr(v, "dtype")]
    if BFLOAT16 not in kinds or np.result_type(*kinds) != BFLOAT16:
        return xp.where(condition, x, y)
    bits = [
        (v if hasattr(v, "view") else xp.asarray(v)).astype(BFLOAT16).view(np.uint16)
        if not isinstance(v, (int, float, np.generic))
        else np.asarray(v).astype(BFLOAT16).view(np.uint16)[()]
        for v in (x, y)
    ]
    return xp.where(condition, *bits).view(BFLOAT16)


def joined(xp: Any, arrays: list[Any], axis: int) -> Any:
    """Concatenation by copies alone: CuPy's implementation needs a table sent from main memory."""
    first = arrays[0]
    axis %= first.ndim
    extent = sum(a.shape[axis] for a in arrays)
    shape = (*first.shape[:axis], extent, *first.shape[axis + 1 :])
    out = xp.empty(shape, np.result_type(*(a.dtype for a in arrays)))
    start = 0
    for a in arrays:
        end = start + a.shape[axis]
        out[(*(slice(None),) * axis, slice(start, end))] = a
        start = end
    return out


def _extreme(xp: Any, name: str, a: Any, axis: Any = None, out: Any = None, **options: Any) -> Any:
    """`np.max` and `np.min` with `initial`, which CuPy's lack."""
    initial = options.pop("initial", None)
    keepdims = bool(options.pop("keepdims", False))
    if initial is None:
        return getattr(xp, name)(a, axis=axis, out=out, keepdims=keepdims)
    if a.size:
        found = getattr(xp, name)(a, axis=axis, keepdims=keepdims)
        return (xp.maximum if name == "max" else xp.minimum)(found, initial)
    return xp.full(np.empty(a.shape, np.bool_).any(axis, keepdims=keepdims).shape, initial, a.dtype)


def functions_for(backend: Any) -> dict[Any, Any]:
    """The functions to call instead."""
    xp = backend.cupy
    linalg = xp.linalg

    def dropping(function: Any, *names: str) -> Any:
        """CuPy's function, called without parameters that are meaningless there."""

        def call(*args: Any, **options: Any) -> Any:
            for name in names:
                options.pop(name, None)
            return function(*args, **options)

        return call

    def raising(function: Any) -> Any:
        """CuPy's linear algebra function, raising errors for singular matrices."""

        def call(*args: Any, **options: Any) -> Any:
            with backend.linalg_errors():
                return function(*args, **options)

        return call

    def made(function: Any) -> Any:
        """A creation function with `like=`: from numbers, lists, and arrays in main memory."""

        def call(*args: Any, **options: Any) -> Any:
            options.pop("device", None)
            return function(*args, **options)

        return call

    def asarray(a: Any, dtype: Any = None, order: Any = None, **options: Any) -> Any:
        if not isinstance(a, backend.arrays):
            a = backend.to_device(np.asarray(a, dtype))
        copy = options.get("copy")
        return xp.array(a, dtype=dtype, copy=bool(copy)) if copy or dtype is not None else a

    def array(a: Any, dtype: Any = None, copy: bool = True, **options: Any) -> Any:
        return asarray(a, dtype, copy=copy)

    def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
        return x.astype(dtype, copy=copy)

    def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **options: Any) -> Any:
        low, high = options.get("min", a_min), options.get("max", a_max)
        return xp.clip(a, low, high, out=out)

    def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        return xp.sum(a != 0, axis=axis, keepdims=keepdims)

    def sort(a: Any, axis: Any = -1, **options: Any) -> Any:
        return xp.sort(a, axis=axis, kind="stable")

    def argsort(a: Any, axis: Any = -1, **options: Any) -> Any:
        return xp.argsort(a, axis=axis, kind="stable")

    def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
        if mode == "clip":
            indices = xp.clip(indices, 0, (a.size if axis is None else a.shape[axis]) - 1)
        return xp.take(a, indices, axis=axis, out=out)

    def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
        return xp.take_along_axis(arr, indices, axis)

    def cholesky(a: Any, /, *, upper: bool = False) -> Any:
        found = linalg.cholesky(a)
        return xp.conjugate(xp.swapaxes(found, -1, -2)) if upper else found

    def svd(
        a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
    ) -> Any:
        return linalg.svd(a, full_matrices, compute_uv)

    def as_strided(x: Any, shape: Any = None, strides: Any = None, **options: Any) -> Any:
        return backend.strided(x, x.shape if shape is None else shape, strides or x.strides, 0)

    def shared(a: Any, b: Any, max_work: Any = None) -> bool:
        return bool(backend.overlap(a, b))

    def concatenate(arrays: Any, axis: Any = 0, out: Any = None, **options: Any) -> Any:
        if backend.capture is None or out is not None or options or axis is None:
            return xp.concatenate(arrays, axis, **({} if out is None else {"out": out}), **options)
        return joined(xp, list(arrays), axis)

    def stack(arrays: Any, axis: int = 0, out: Any = None, **options: Any) -> Any:
        if backend.capture is None or out is not None or options:
            return xp.stack(arrays, axis, **({} if out is None else {"out": out}), **options)
        return joined(xp, [xp.expand_dims(a, axis) for a in arrays], axis)

    def triangle(name: str) -> Any:
        """`np.tril` and `np.triu`, which in CuPy convert bfloat16 to float32."""
        plain = getattr(xp, name)

        def call(m: Any, k: int = 0) -> Any:
            if m.dtype == BFLOAT16:
                return plain(m.view(np.uint16), k).view(BFLOAT16)
            return plain(m, k)

        return call

    table = {
        np.concatenate: concatenate,
        np.stack: stack,
        np.tril: triangle("tril"),
        np.triu: triangle("triu"),
        np.where: lambda c, x=None, y=None: where(xp, c, x, y),
        np.max: lambda a, *args, **options: _extreme(xp, "max", a, *args, **options),
        np.min: lambda a, *args, **options: _extreme(xp, "min", a, *args, **options),
        np.sum: lambda a, axis=None, dtype=None, out=None, keepdims=False: xp.sum(
            a, axis=axis, dtype=dtype, out=out, keepdims=bool(keepdims)
        ),
        np.asarray: asarray,
        np.array: array,
        np.ascontiguousarray: lambda a, dtype=None: xp.ascontiguousarray(a, dtype),
        np.astype: astype,
        np.clip: clip,
        np.count_nonzero: count_nonzero,
        np.sort: sort,
        np.argsort: argsort,
        np.take: take,
        np.take_along_axis: take_along_axis,
        np.einsum: dropping(xp.einsum, "optimize"),
        np.broadcast_to: dropping(xp.broadcast_to, "subok"),
        np.lib.stride_tricks.as_strided: as_strided,
        np.shares_memory: shared,
        np.may_share_memory: shared,
        np.argpartition: dropping(xp.argpartition, "kind"),
        np.isin: dropping(xp.isin, "kind"),
        np.linalg.cholesky: raising(cholesky),
        np.linalg.svd: raising(svd),
    }
    for name in ("empty", "zeros", "ones", "full"):
        table[getattr(np, f"{name}_like")] = _like(xp, name)
    for name in ("arange", "eye", "linspace", "empty", "zeros", "ones", "full", "identity", "tri"):
        table[getattr(np, name)] = made(getattr(xp, name))
    for name in ("inv", "solve", "qr", "eigh", "eigvalsh", "eig", "eigvals", "lstsq", "pinv"):
        found = getattr(linalg, name, None)
        if found is not None:
            table[getattr(np.linalg, name)] = raising(found)
    return table
