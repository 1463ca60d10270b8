"""Decompositions of low rank: random directions find the range of a matrix, and a small one is decomposed exactly.

Halko, Martinsson and Tropp, "Finding structure with randomness" (2009), algorithms 4.4 and 5.1. The directions
are PyTorch's for the same seed.
"""

from __future__ import annotations

from typing import Any

from ..._arrays.dtypes import float32
from ..._tensor.random import randn
from ..._tensor.tensor import Tensor


def _product(a: Any, b: Any) -> Any:
    if a.is_sparse:
        from ..sparse.products import mm

        return mm(a, b)
    return a @ b


def _orthonormal(x: Any) -> Any:
    from .qr import qr

    return qr(x)[0]


def _range_of(a: Any, q: int, niter: int, mean: Any) -> Any:
    """Orthonormal columns that span what a matrix, less its mean, gives for `q` random directions."""

    def forward(y: Any) -> Any:
        found = _product(a, y)
        return found if mean is None else found - mean @ y

    def back(y: Any) -> Any:
        found = _product(a.t() if a.is_sparse else a.mH, y)
        return found if mean is None else found - mean.mH @ y

    kind = a.dtype if a.is_floating_point() or a.is_complex() else float32
    basis = _orthonormal(forward(randn(a.shape[-1], q, dtype=kind, device=a.device)))
    for _ in range(niter):
        basis = _orthonormal(forward(_orthonormal(back(basis))))
    return basis


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The singular value decomposition `U diag(S) V^H` of a matrix of rank about `q`, less a mean `M`."""
    from .singular_values import svd

    matrix: Any = A
    mean: Any = None if M is None else M.broadcast_to(A.size())
    wide = matrix.shape[-2] < matrix.shape[-1]
    if wide:
        matrix = matrix.t() if matrix.is_sparse else matrix.mH
        mean = None if mean is None else mean.mH
    basis = _range_of(matrix, 6 if q is None else q, 2 if niter is None else niter, mean)
    small = basis.mH @ matrix
    if mean is not None:
        small = small - basis.mH @ mean
    left, values, right = svd(small, full_matrices=False)
    u, v = basis @ left, right.mH
    return (v, values, u) if wide else (u, values, v)


def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """The principal components of rows, `q` of them: `svd_lowrank` of the centred matrix."""
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not center:
        return svd_lowrank(A, q, niter)
    matrix: Any = A
    if matrix.is_sparse:
        if len(matrix.shape) != 2:
            raise ValueError("pca_lowrank input is expected to be 2-dimensional tensor")
        mean = matrix.sum(0).to_dense() / m
        return svd_lowrank(A, q, niter, mean.expand(m, n))
    return svd_lowrank(matrix - matrix.mean(-2, keepdim=True), q, niter)
