"""What the linear algebra families share: checks in PyTorch's words, and the two algorithms that
NumPy lacks, triangular solves and LU.

Both are written with NumPy functions only, so they run on whatever answers NumPy's protocols, and work
in blocks, so that nearly all of their time goes to matrix products.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays.dtypes import LEGACY_NAMES
from .._tensor.tensor import Tensor
from .elementwise import conj, require_tensor


class _LinAlgError(RuntimeError):
    """A matrix that has no inverse, no Cholesky factor, …"""


LinAlgError = _LinAlgError
BLOCK = 64  # up to this size a triangular system is solved as a general one

# --- checks -----------------------------------------------------------------------------------------


def spoken(tensor: Tensor) -> str:
    """The name of a tensor's dtype in PyTorch's errors: `Float`, `Long`, …"""
    return LEGACY_NAMES[tensor.dtype]


def check_float(name: str, x: Tensor, low_precision: bool = False) -> None:
    """Refuse what LAPACK has no routine for."""
    kind = x.dtype
    if not kind.is_floating_point and not kind.is_complex:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {spoken(x)}"
        )
    if kind.is_half and not low_precision:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {spoken(x)}")


def check_matrix(name: str, x: Any, label: str = "A", function: str | None = None) -> None:
    if function is not None:
        require_tensor(function, x, label)
    if x._data.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {label} must have at least 2 dimensions.")


def check_square(name: str, x: Any, label: str = "A", function: str | None = None) -> None:
    check_matrix(name, x, label, function)
    m, n = x._data.shape[-2:]
    if m != n:
        raise RuntimeError(
            f"{name}: {label} must be batches of square matrices, but they are {m} by {n} matrices"
        )


def check_system(name: str, a: Any, b: Any, left: bool, columns: tuple[int, int]) -> None:
    """Whether A X = B (or X A = B) makes sense for these shapes."""
    n = a._data.shape[-1]
    if columns[0 if left else 1] != n:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {equation} "
            f"({a._data.shape[-2]}x{n} and {columns[0]}x{columns[1]})"
        )


def check_same(name: str, a: Any, b: Any, labels: str = "A B") -> None:
    if a._data.dtype != b._data.dtype:
        first, second = labels.split()
        raise RuntimeError(
            f"{name}: Expected {first} and {second} to have the same dtype, but found {first} of type "
            f"{spoken(a)} and {second} of type {spoken(b)} instead"
        )


# --- small things that rules are made of ----------------------------------------------------------------


def turn(x: Any) -> Any:
    """The last two dimensions exchanged (a view)."""
    return np.swapaxes(x, -1, -2)


def adjoint(x: Any) -> Any:
    """The conjugate transpose of matrices; for real ones a view."""
    return np.swapaxes(conj(x), -1, -2)


def by_columns(x: Any) -> Any:
    """The same matrices in memory column by column, as LAPACK leaves its results."""
    return turn(np.copy(turn(x), order="C")) if x.ndim > 1 else x


def raw(x: Any) -> Any:
    """The array itself, also behind a lifted tensor: for constants that must be of its kind."""
    tensor = getattr(x, "tensor", None)
    return x if tensor is None else tensor._data


def identity(x: Any, n: int | None = None) -> Any:
    """An identity matrix, a constant of the kind and dtype of `x`."""
    like = raw(x)
    steps = np.arange(like.shape[-1] if n is None else n, like=like)
    return np.astype(np.expand_dims(steps, -1) == steps, like.dtype)


def diagonal_of(x: Any) -> Any:
    """The diagonals of square matrices."""
    return np.sum(x * identity(x), axis=-1)


def diagonal_matrix(x: Any) -> Any:
    """Square matrices with the given diagonals."""
    return np.expand_dims(x, -1) * identity(x)


def scale_rows(x: Any, factors: Any) -> Any:
    return np.expand_dims(factors, -1) * x


def scale_columns(x: Any, factors: Any) -> Any:
    return x * np.expand_dims(factors, -2)


def known(value: Any, otherwise: Any) -> Any:
    """A number that an array holds, where its values can be had; else what to assume."""
    return value if isinstance(value, (np.ndarray, np.generic)) else otherwise


# --- triangular systems ---------------------------------------------------------------------------------


def triangle(a: Any, upper: bool, unit: bool) -> Any:
    """The triangle that is read, with ones on its diagonal if it is said to have them."""
    if unit:
        return (np.triu(a, 1) if upper else np.tril(a, -1)) + identity(a)
    return np.triu(a) if upper else np.tril(a)


def solve_triangle(a: Any, b: Any, upper: bool, unit: bool = False) -> Any:
    """X with A X = B for triangular A: block by block, each taken off what is left of B."""
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


# --- LU -------------------------------------------------------------------------------------------------


def lu_arrays(a: Any) -> tuple[Any, Any, Any]:
    """L and U in one array, the order of rows, and LAPACK's pivots (from one) of P A = L U."""
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
    m, n = a.shape[-2:]
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


# --- when LAPACK gives up -------------------------------------------------------------------------------


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
    """What Cholesky's algorithm leaves when it stops, and the order of the minor that stopped it."""
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


def first_failure(info: Any) -> tuple[str, int]:
    """Where in a batch something failed first, as PyTorch's errors say it, and its code."""
    flat = np.ravel(info)
    where = int(np.argmax(flat != 0))
    return (f"(Batch element {where}): " if info.ndim else ""), int(flat[where])


def singular(name: str, info: Any) -> LinAlgError:
    """PyTorch's error for a matrix without an inverse."""
    batch, code = first_failure(info)
    return LinAlgError(
        f"{name}: {batch}The diagonal element {code} is zero, the inversion could not be completed "
        "because the input matrix is singular."
    )
