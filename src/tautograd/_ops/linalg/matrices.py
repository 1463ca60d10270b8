"""The small things that rules on matrices are made of: adjoints, diagonals, scaled columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.batching.batched import BatchedArray
from ..._autograd.lifted import Lifted
from ..declare.elementwise_calls import conj

_ndarray = np.ndarray


def turn(x: Any) -> Any:
    """The last two dimensions exchanged (a view)."""
    if type(x) is _ndarray:  # np.swapaxes costs four times as much as what it does
        return x.mT
    if type(x) is Lifted:
        turned = x.turned()
        if turned is not None:
            return turned
    return np.swapaxes(x, -1, -2)


def adjoint(x: Any) -> Any:
    """The conjugate transpose of matrices; for real ones a view."""
    return turn(conj(x))


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


def values_of(x: Any) -> Any:
    """The NumPy array behind vmap's batches; None for an array that hides its values."""
    while isinstance(x, BatchedArray):
        x = x.data
    return x if isinstance(x, (np.ndarray, np.generic)) else None


def product(*factors: Any) -> Any:
    """The matrix product of several factors, from the left."""
    result = factors[0]
    for factor in factors[1:]:
        result = np.matmul(result, factor)
    return result


def as_input(x: Any, *results: Any) -> tuple[Any, ...]:
    """Results of an integer input (only empty ones get this far) in its dtype."""
    if x.dtype.kind in "biu":
        return tuple([np.astype(r, x.dtype) for r in results])
    return results
