"""The table of ufuncs and their methods that CuPy does differently from NumPy, or lacks.

(`cuda_functions` is the other half.) A rule that raises a TypeError leaves the work to NumPy, in main
memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def ufuncs_for(backend: Any) -> dict[Any, Any]:
    """The ufuncs to call instead."""
    from .products import matmul_for

    xp = backend.cupy

    def truths(name: str) -> Any:
        """A logical function, which CuPy lacks for complex numbers."""
        plain = getattr(xp, name)

        def call(*args: Any, **options: Any) -> Any:
            real = [a != 0 if getattr(a, "dtype", BFLOAT16).kind == "c" else a for a in args]
            return plain(*real, **options)

        return call

    def shift(name: str) -> Any:
        """A shift by more bits than there are, which is undefined in C."""
        plain = getattr(xp, name)

        def call(x: Any, n: Any, **options: Any) -> Any:
            bits = 8 * np.result_type(x, n).itemsize
            far = xp.logical_or(xp.asarray(n) < 0, xp.asarray(n) >= bits)
            if name == "left_shift":
                found = plain(x, xp.where(far, 0, n), **options)
                return xp.where(far, xp.zeros((), found.dtype), found)
            return plain(x, xp.where(far, bits - 1, n), **options)

        return call

    names = ("logical_and", "logical_or", "logical_xor", "logical_not")
    return {
        **{getattr(np, name): truths(name) for name in names},
        **{getattr(np, name): shift(name) for name in ("left_shift", "right_shift")},
        np.nextafter: lambda x, y: _nextafter(xp, x, y),
        **elementwise_for(backend),
        np.matmul: matmul_for(backend),
        np.vecdot: lambda x, y, **options: xp.sum(
            (xp.conjugate(x) if x.dtype.kind == "c" else x) * y, axis=options.get("axis", -1)
        ),
    }


# Functions of `scipy.special` for which CuPy's are unusable far from zero (`exp1` of NaN takes it minutes):
# SciPy computes them.
IN_MAIN_MEMORY = frozenset(
    ("i0", "i0e", "i1", "i1e", "k0", "k0e", "k1", "k1e", "j0", "j1", "y0", "y1", "gammainc",
     "gammaincc", "xlog1py", "exp1")
)  # fmt: skip


def _nextafter(xp: Any, x: Any, y: Any) -> Any:
    if getattr(x, "dtype", np.dtype(np.float32)).itemsize == 2:
        raise TypeError("CuPy's nextafter of half precision is wrong")
    return xp.nextafter(x, y)


def elementwise_for(backend: Any) -> dict[Any, Any]:
    """Ufuncs with our own kernels: NumPy's floor_divide, fmod of integers, complex quotients."""
    xp = backend.cupy
    if not backend.has_kernels:
        return {}
    floors = xp.ElementwiseKernel("T a, T b", "T r", _FLOOR_DIVIDE, "numpy_floor_divide")
    rest = xp.ElementwiseKernel(
        "T a, T b", "T r", "r = b == 0 ? T(0) : b == T(-1) ? T(0) : a % b", "c_rest"
    )
    quotient = xp.ElementwiseKernel("T a, T b", "T r", _COMPLEX_DIVIDE, "smith_divide")

    def of_kind(kinds: str, kernel: Any, plain: Any) -> Any:
        def call(x: Any, y: Any, **options: Any) -> Any:
            if options or not (_kind(x) in kinds or _kind(y) in kinds):
                return plain(x, y, **options)
            dtype = np.result_type(*(v.dtype if hasattr(v, "dtype") else v for v in (x, y)))
            if dtype.kind not in kinds or dtype.itemsize == 2:
                return plain(x, y)
            pair = [v if hasattr(v, "ndim") else dtype.type(v) for v in (x, y)]
            pair = [v if v.dtype == dtype else v.astype(dtype) for v in pair]
            return kernel(*pair)

        return call

    return {
        np.floor_divide: of_kind("f", floors, xp.floor_divide),
        np.fmod: of_kind("i", rest, xp.fmod),
        np.true_divide: of_kind("c", quotient, xp.true_divide),
    }


def _kind(x: Any) -> str:
    """The kind of an operand's dtype, or of a number."""
    if hasattr(x, "dtype"):
        return str(x.dtype.kind)
    return "c" if type(x) is complex else "f" if type(x) is float else "i"


_FLOOR_DIVIDE = """
T rest = fmod(a, b);
if (b == T(0)) r = a / b;
else {
  T q = (a - rest) / b;
  if (rest != T(0) && ((b < T(0)) != (rest < T(0)))) q -= T(1);
  if (q != T(0)) { r = floor(q); if (q - r > T(0.5)) r += T(1); }
  else r = copysign(T(0), a / b);
}
"""
# Smith's quotient: it overflows only if the result does.
_COMPLEX_DIVIDE = """
auto u = b.real(), v = b.imag();
if (abs(u) >= abs(v)) {
  if (u == 0 && v == 0) r = T(a.real() / abs(u), a.imag() / abs(u));
  else { auto k = v / u, d = 1 / (u + v * k);
    r = T((a.real() + a.imag() * k) * d, (a.imag() - a.real() * k) * d); }
} else { auto k = u / v, d = 1 / (v + u * k);
  r = T((a.real() * k + a.imag()) * d, (a.imag() * k - a.real()) * d); }
"""

# Methods of ufuncs: (ufunc, method) -> from a backend to what is called.
METHODS: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("maximum", "at"): lambda backend: _choosing(backend, "maximum"),
    ("minimum", "at"): lambda backend: _choosing(backend, "minimum"),
    ("maximum", "accumulate"): lambda backend: _running(backend, "maximum"),
    ("minimum", "accumulate"): lambda backend: _running(backend, "minimum"),
    ("logaddexp", "accumulate"): lambda backend: _running(backend, "logaddexp"),
}


def adding(backend: Any) -> Any:
    """`np.add.at`, for dtypes that CuPy adds atomically and, in terms of those, for others."""
    plain = backend.cupy.add.at

    def at(x: Any, index: Any, values: Any) -> None:
        if backend.deterministic and x.dtype.kind not in "iu":
            raise TypeError("atomic additions come in any order")  # so NumPy adds them
        if x.dtype.kind == "c":
            values = backend.cupy.asarray(values).astype(x.dtype)
            plain(x.real, index, values.real)
            plain(x.imag, index, values.imag)
        elif x.dtype == BFLOAT16:
            wide = x.astype(np.float32)
            plain(wide, index, values.astype(np.float32))
            x[...] = wide.astype(x.dtype)
        else:
            plain(x, index, values)

    return at


METHODS["add", "at"] = adding


def _choosing(backend: Any, name: str) -> Any:
    """`np.maximum.at` and the like: CuPy compares double precision as single."""
    plain = getattr(backend.cupy, name).at

    def at(x: Any, index: Any, values: Any) -> None:
        if x.dtype == np.float64:
            raise TypeError(f"CuPy's {name}.at rounds")
        plain(x, index, values)

    return at


def _running(backend: Any, name: str) -> Any:
    """A ufunc's `accumulate`, in as many steps as the length doubles; None: in main memory."""
    ufunc = getattr(backend.cupy, name)

    def accumulate(x: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        if dtype is not None or out is not None:
            raise TypeError(f"{name}.accumulate takes no dtype or out here")
        found = backend.cupy.copy(x)
        rows = backend.cupy.moveaxis(found, axis, 0)
        step, length = 1, rows.shape[0]
        while step < length:
            rows[step:] = ufunc(rows[:-step], rows[step:])
            step *= 2
        return found

    return accumulate
