"""What linear algebra refuses, in PyTorch's words: shapes, dtypes, and matrices that fail."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import require_tensor
from ..declare.public import LINALG
from .products.product_checks import spoken


class _LinAlgError(RuntimeError):
    """A matrix that has no inverse, no Cholesky factor, …"""


LinAlgError = _LinAlgError
LINALG["LinAlgError"] = LinAlgError
_LAPACK = "fdFD"  # the dtypes that LAPACK has routines for


def check_float(name: str, x: Tensor, low_precision: bool = True) -> None:
    """Refuse integers, and half precision where PyTorch says so before it looks for a kernel."""
    kind = x.dtype
    if not kind.is_floating_point and not kind.is_complex:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {spoken(x)}"
        )
    if kind.is_half and not low_precision:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {spoken(x)}")


def check_kernel(kernel: str, x: Tensor, even_empty: bool = False) -> None:
    """Refuse a dtype that has no kernel; most kernels are not reached by empty matrices."""
    if x._data.dtype.char not in _LAPACK and (even_empty or x._data.size):
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{spoken(x)}'")


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
            f"{name}: Expected {first} and {second} to have the same dtype, but found {first} of "
            f"type {spoken(a)} and {second} of type {spoken(b)} instead"
        )


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
