"""`svd_lowrank` and `pca_lowrank`: the largest singular values, from products with random vectors.

A few random vectors, multiplied by A and its adjoint in turn, come to lie in the space of A's largest
singular vectors; within that space the decomposition is a small one (Halko, Martinsson and Tropp, 2009).
"""

from __future__ import annotations

from typing import Any

from ...._arrays.formats import strided
from ...._tensor.tensor import Tensor
from ...declare.elementwise_calls import require_tensor
from ...declare.public import FUNCTIONS, LINALG, public


def _range_of(a: Any, mean: Any, q: int, niter: int) -> Any:
    """An orthonormal basis of about the space that the first q left singular vectors of A - mean span."""
    orthonormal = LINALG["qr"]
    draws = FUNCTIONS["randn"](a.shape[-1], q, dtype=a.dtype, device=a.device)
    basis = orthonormal(_product(a, mean, draws))[0]
    back, mean_back = _adjoint(a), None if mean is None else mean.mH
    for _ in range(niter):
        basis = orthonormal(_product(a, mean, orthonormal(_product(back, mean_back, basis))[0]))[0]
    return basis


def _product(a: Any, mean: Any, vectors: Any) -> Any:
    """(A - mean) times vectors. The two are never subtracted: A may be sparse, and their difference is not."""
    found = a @ vectors
    return found if mean is None else found - mean @ vectors


def _adjoint(a: Any) -> Any:
    return a.mH if a.layout is strided else a.t().conj()


@public(method=False, out=False)
def svd_lowrank(
    A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of the q largest singular values of A (which may be sparse), or of A - M."""
    require_tensor("svd_lowrank", A, "A")
    count, times = 6 if q is None else q, 2 if niter is None else niter
    rows, columns = A.shape[-2:]
    a, mean = A, None if M is None else M.broadcast_to(A.shape)
    wide = rows < columns
    if wide:
        a, mean = _adjoint(a), None if mean is None else mean.mH
    basis = _range_of(a, mean, count, times)
    small = basis.mH @ a if mean is None else basis.mH @ a - basis.mH @ mean
    u, s, vh = LINALG["svd"](small, full_matrices=False)
    left, right = basis @ u, vh.mH
    return (right, s, left) if wide else (left, s, right)


@public(method=False, out=False)
def pca_lowrank(
    A: Any, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of the principal components of rows of data, without their mean if `center`."""
    require_tensor("pca_lowrank", A, "A")
    rows, columns = A.shape[-2:]
    count = min(6, rows, columns) if q is None else q
    if not 0 <= count <= min(rows, columns):
        raise ValueError(
            f"q(={count}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not center:
        return svd_lowrank(A, count, niter)
    if A.layout is strided:
        return svd_lowrank(A - A.mean(dim=-2, keepdim=True), count, niter)
    if A.ndim != 2:
        raise ValueError("pca_lowrank input is expected to be 2-dimensional tensor")
    mean = FUNCTIONS["ones"](1, rows, dtype=A.dtype, device=A.device) @ A / rows
    return svd_lowrank(A, count, niter, mean)
