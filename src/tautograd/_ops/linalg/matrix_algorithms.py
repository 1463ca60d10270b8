"""The algorithms on arrays that NumPy lacks: triangular solves, LU, and failed factorisations.

NumPy's arrays go to LAPACK itself (`_arrays/lapack`). For all others they are written with NumPy
functions only, so they run on whatever answers NumPy's protocols, and work in blocks, so that nearly
all of their time goes to matrix products.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays import lapack
from ..._arrays.devices import is_meta
from ..._arrays.kernels import called
from .matrices import adjoint, identity

BLOCK = 64  # up to this size a triangular system is solved as a general one

# --- triangular systems --------------------------------------------------------------------------


def triangle(a: Any, upper: bool, unit: bool) -> Any:
    """The triangle that is read, with ones on its diagonal if it is said to have them."""
    if unit:
        return (np.triu(a, 1) if upper else np.tril(a, -1)) + identity(a)
    return np.triu(a) if upper else np.tril(a)


def solve_triangle(a: Any, b: Any, upper: bool, unit: bool = False) -> Any:
    """X with A X = B for triangular A: block by block, each taken off what is left of B."""
    found = called(lapack.solve_triangle, a, b, upper, unit)
    if found is not None:
        return found
    n = a.shape[-1]
    if n <= BLOCK:
        a = triangle(a, upper, unit)
        try:
            return np.linalg.solve(a, b)
        except np.linalg.LinAlgError:
            return _substitute(a, b, upper)
    starts = range(0, n, BLOCK)
    parts = []
    for start in reversed(starts) if upper else starts:
        end = min(start + BLOCK, n)
        here = b[..., -(end - start) :, :] if upper else b[..., : end - start, :]
        x = solve_triangle(a[..., start:end, start:end], here, upper, unit)
        rest = slice(0, start) if upper else slice(end, n)
        left = b[..., : b.shape[-2] - (end - start), :] if upper else b[..., end - start :, :]
        b = left - np.matmul(a[..., rest, start:end], x)
        parts.append(x)
    return np.concatenate(parts[::-1] if upper else parts, axis=-2)


def _substitute(a: Any, b: Any, upper: bool) -> Any:
    """Row by row, whatever the diagonal holds: infinities where it is zero, as in BLAS."""
    n = a.shape[-1]
    x = np.broadcast_to(b, (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:]))
    x = np.copy(x)
    for i in range(n - 1, -1, -1) if upper else range(n):
        x[..., i, :] = x[..., i, :] / a[..., i, i, None]
        rest = slice(0, i) if upper else slice(i + 1, n)
        x[..., rest, :] = x[..., rest, :] - a[..., rest, i, None] * x[..., i, None, :]
    return x


# --- LU ------------------------------------------------------------------------------------------


def lu_arrays(a: Any) -> tuple[Any, Any, Any]:
    """L and U in one array, the order of rows, and LAPACK's pivots (from one) of P A = L U."""
    found: tuple[Any, Any, Any] | None = called(lapack.lu, a)
    if found is not None:
        return found
    if is_meta(a):
        a.host()  # which says that there are no elements
    m, n = a.shape[-2:]
    if not m or not n:
        rows = np.arange(m, like=a)
        order = np.broadcast_to(rows, (*a.shape[:-2], m))
        return a, order, np.zeros_like(a, shape=(*a.shape[:-2], 0), dtype=np.int32)
    if n > m:
        packed, order, pivots = _factor(a[..., :m])
        rest = np.take_along_axis(a[..., m:], np.expand_dims(order, -1), -2)
        packed = np.concatenate((packed, solve_triangle(packed, rest, False, True)), axis=-1)
    else:
        packed, order, pivots = _factor(a)
    return packed, order, np.astype(np.stack(pivots, axis=-1) + 1, np.int32)


def _factor(a: Any) -> tuple[Any, Any, list[Any]]:
    """Half of the columns, then what they leave of the other half."""
    n = a.shape[-1]
    if n == 1:
        return _factor_column(a)
    h = n // 2
    left, order, pivots = _factor(a[..., :h])
    right = np.take_along_axis(a[..., h:], np.expand_dims(order, -1), -2)
    top = solve_triangle(left[..., :h, :], right[..., :h, :], False, True)
    rest, suborder, more = _factor(right[..., h:, :] - np.matmul(left[..., h:, :], top))
    low = np.take_along_axis(left[..., h:, :], np.expand_dims(suborder, -1), -2)
    upper = np.concatenate((left[..., :h, :], top), axis=-1)
    packed = np.concatenate((upper, np.concatenate((low, rest), axis=-1)), axis=-2)
    moved = np.take_along_axis(order[..., h:], suborder, -1)
    return packed, np.concatenate((order[..., :h], moved), axis=-1), pivots + [p + h for p in more]


def _factor_column(a: Any) -> tuple[Any, Any, list[Any]]:
    column = a[..., 0]
    size = (
        np.abs(np.real(column)) + np.abs(np.imag(column)) if a.dtype.kind == "c" else np.abs(column)
    )
    pivot = np.argmax(size, axis=-1)
    order = swapped(np.arange(a.shape[-2], like=a), 0, np.expand_dims(pivot, -1))
    a = np.take_along_axis(a, np.expand_dims(order, -1), -2)
    first = a[..., :1, :]
    # A column of zeros stays as it is; its pivot of zero says that the matrix is singular.
    rest = a[..., 1:, :] / np.where(first == 0, 1, first)
    return np.concatenate((first, rest), axis=-2), order, [pivot]


def swapped(order: Any, i: int, j: Any) -> Any:
    """Row numbers with those at places `i` and `j` (one per matrix) exchanged."""
    places = np.arange(order.shape[-1], like=order)
    at_i = order[..., i : i + 1]
    at_j = np.sum(np.where(places == j, order, 0), axis=-1, keepdims=True)
    return np.where(places == i, at_j, np.where(places == j, at_i, order))


def order_from_pivots(pivots: Any, m: int) -> Any:
    """The order of rows that LAPACK's pivots (from one) lead to."""
    order = np.broadcast_to(np.arange(m, like=pivots), (*pivots.shape[:-1], m))
    for i in range(pivots.shape[-1]):
        order = swapped(order, i, np.expand_dims(pivots[..., i], -1) - 1)
    return order


def permutation(order: Any, dtype: Any) -> Any:
    """The matrix P with A = P L U, given the order of A's rows in L U."""
    rows = np.arange(order.shape[-1], like=order)
    return np.astype(np.expand_dims(rows, -1) == np.expand_dims(order, -2), dtype)


# --- when LAPACK gives up ------------------------------------------------------------------------


def zero_pivots(a: Any) -> Any:
    """For each matrix the first zero on U's diagonal, counted from one; 0 if there is none."""
    packed = lu_arrays(a)[0]
    zero = np.diagonal(packed, axis1=-2, axis2=-1) == 0
    found = np.where(np.any(zero, axis=-1), np.argmax(zero, axis=-1) + 1, 0)
    return np.astype(np.asarray(found), np.int32)


def solve_anyway(a: Any, b: Any) -> Any:
    """A general system solved through LU, with infinities where it is singular."""
    packed, order, _ = lu_arrays(a)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    b = np.broadcast_to(b, (*batch, *b.shape[-2:]))
    order = np.broadcast_to(order, (*batch, order.shape[-1]))
    b = np.take_along_axis(b, np.expand_dims(order, -1), -2)
    return solve_triangle(packed, solve_triangle(packed, b, False, True), True)


def not_positive(a: Any, upper: bool) -> tuple[Any, Any]:
    """What Cholesky's algorithm leaves when it stops, and the order of the minor that stops it."""
    size = a.shape[-1]
    work = np.copy(adjoint(a) if upper else a)
    info = np.zeros(a.shape[:-2], np.int32)
    for index in np.ndindex(a.shape[:-2]):
        one = work[index]
        for k in range(size):
            rest = np.real(one[k, k] - np.sum(np.abs(one[k, :k]) ** 2))
            if not rest > 0:
                info[index] = k + 1
                one[k, k] = rest
                break
            one[k, k] = np.sqrt(rest)
            below = one[k + 1 :, k] - one[k + 1 :, :k] @ np.conj(one[k, :k])
            one[k + 1 :, k] = below / one[k, k]
    work = np.tril(work)
    return (adjoint(work) if upper else work), info
