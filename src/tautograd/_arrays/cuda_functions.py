"""The one table of what CuPy does otherwise than NumPy, or not at all.

Each entry takes NumPy's function and gives one on CuPy's arrays with NumPy's arguments and results.
What is not here is CuPy's function of the same name; what CuPy lacks, NumPy does in main memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def ufuncs_for(backend: Any) -> dict[Any, Any]:
    """Ufuncs that are called otherwise."""
    from .cuda_products import matmul_for

    xp = backend.cupy
    return {
        np.matmul: matmul_for(backend),
        np.vecdot: lambda x, y, **options: xp.sum(
            (xp.conjugate(x) if x.dtype.kind == "c" else x) * y, axis=options.get("axis", -1)
        ),
    }


# Methods of ufuncs: (ufunc, method) -> from a backend to what is called.
METHODS: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("add", "at"): lambda backend: _scatter(backend, "add"),
    ("maximum", "at"): lambda backend: _scatter(backend, "max"),
    ("minimum", "at"): lambda backend: _scatter(backend, "min"),
}


def _scatter(backend: Any, name: str) -> Any:
    ufunc = {"add": "add", "max": "maximum", "min": "minimum"}[name]

    def at(x: Any, index: Any, values: Any) -> None:
        getattr(backend.cupy, ufunc).at(x, index, values)

    return at


def functions_for(backend: Any) -> dict[Any, Any]:
    """Functions that are called otherwise."""
    xp = backend.cupy
    linalg = xp.linalg

    def dropping(function: Any, *names: str) -> Any:
        """CuPy's function without parameters that say nothing there."""

        def call(*args: Any, **options: Any) -> Any:
            for name in names:
                options.pop(name, None)
            return function(*args, **options)

        return call

    def raising(function: Any) -> Any:
        """CuPy's function of linear algebra, with the errors of a singular matrix."""

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

    table = {
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
    for name in ("empty_like", "zeros_like", "ones_like", "full_like"):
        table[getattr(np, name)] = dropping(getattr(xp, name), "subok", "device")
    for name in ("arange", "eye", "linspace", "empty", "zeros", "ones", "full", "identity", "tri"):
        table[getattr(np, name)] = made(getattr(xp, name))
    for name in ("inv", "solve", "qr", "eigh", "eigvalsh", "eig", "eigvals", "lstsq", "pinv"):
        found = getattr(linalg, name, None)
        if found is not None:
            table[getattr(np.linalg, name)] = raising(found)
    return table
