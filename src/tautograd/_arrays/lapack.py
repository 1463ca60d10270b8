"""Routines of LAPACK and BLAS that NumPy has loaded and does not offer: LU with its pivots, triangular systems.

They take NumPy's own arrays. Where NumPy was built with another library, `routine` gives None, and whoever asks
computes it with NumPy's functions.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .once import once

_LETTERS = {np.dtype(kind): letter for kind, letter in zip("fdFD", "sdcz", strict=True)}


class Library(NamedTuple):
    """NumPy's OpenBLAS: what its names end with, and the bits of its integers."""

    library: Any
    ending: str
    integer: int

    def function(self, name: str) -> Any:
        """A function by the name that OpenBLAS gives it; None if there is none."""
        return getattr(self.library, f"scipy_{name}{self.ending}", None)


@once
def openblas() -> Library | None:
    """The library that NumPy's wheels bring."""
    folder = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs")
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        if not name.startswith("libscipy_openblas"):
            continue
        library = ctypes.CDLL(os.path.join(folder, name))
        for ending, bits in (("64_", 64), ("", 32)):
            found = Library(library, ending, bits)
            if found.function("sgemm_") is not None:
                return found
    return None


def routine(name: str, x: Any) -> Callable[..., Any] | None:
    """A Fortran routine for an array's dtype, without the letter of the dtype."""
    if type(x) is not np.ndarray or x.dtype not in _LETTERS:
        return None
    library = openblas()
    return None if library is None else library.function(f"{_LETTERS[x.dtype]}{name}_")


def whole(*numbers: int) -> list[Any]:
    """Integers as Fortran takes them: by address."""
    library = openblas()
    kind = ctypes.c_int32 if library is None or library.integer == 32 else ctypes.c_int64
    return [ctypes.byref(kind(number)) for number in numbers]


def lu(a: Any) -> tuple[Any, Any, Any] | None:
    """L and U in one array, the order of rows, and the pivots from one, of each matrix; None without LAPACK."""
    getrf = routine("getrf", a)
    if getrf is None or not a.size:
        return None
    m, n = a.shape[-2:]
    least = min(m, n)
    packed = np.array(a.reshape(-1, m, n).swapaxes(-1, -2), order="C")  # columns one after another
    library = openblas()
    assert library is not None
    pivots = np.empty((len(packed), least), f"i{library.integer // 8}")
    rows, columns, info = whole(m, n, 0)
    for matrix, pivot in zip(packed, pivots, strict=True):
        getrf(rows, columns, _at(matrix), rows, _at(pivot), info)
    order = np.empty((len(packed), m), np.int64)
    for found, pivot in zip(order, pivots.tolist(), strict=True):
        places = list(range(m))
        for i, j in enumerate(pivot):
            places[i], places[j - 1] = places[j - 1], places[i]
        found[:] = places
    stack = a.shape[:-2]
    return (
        packed.reshape(*stack, n, m).swapaxes(-1, -2),
        order.reshape(*stack, m),
        pivots.astype(np.int32).reshape(*stack, least),
    )


def solve_triangle(a: Any, b: Any, upper: bool, unit: bool) -> Any:
    """X with A X = B for triangular A, with infinities where the diagonal is zero; None without BLAS."""
    trsm = routine("trsm", a)
    if trsm is None or type(b) is not np.ndarray or b.dtype is not a.dtype or not b.size:
        return None
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    n, k = b.shape[-2:]
    x = np.empty((*stack, k, n), b.dtype)
    x[...] = np.swapaxes(b, -1, -2)
    lines = np.broadcast_to(np.swapaxes(a, -1, -2), (*stack, n, n))  # A by columns
    one = np.ones((), b.dtype)
    rows, columns = whole(n, k)
    flags = [
        ctypes.c_char(f) for f in (b"L", b"U" if upper else b"L", b"N", b"U" if unit else b"N")
    ]
    for matrix, solution in zip(lines.reshape(-1, n, n), x.reshape(-1, k, n), strict=True):
        given = np.ascontiguousarray(matrix)
        trsm(
            *map(ctypes.byref, flags),
            rows,
            columns,
            _at(one),
            _at(given),
            rows,
            _at(solution),
            rows,
        )
    return np.swapaxes(x, -1, -2)


def _at(x: Any) -> Any:
    return ctypes.c_void_p(x.ctypes.data)
