"""`svd_lowrank` and `pca_lowrank`: the largest singular values, from products with random vectors.

A few random vectors, multiplied by A and its adjoint in turn, come to lie in the space of A's largest
singular vectors; within that space the decomposition is a small one (Halko, Martinsson and Tropp, 2009).
"""

from __future__ import annotations

from typing import Any

from ..declare.elementwise_calls import require_tensor
from ..declare.public import FUNCTIONS, LINALG, public


def _range_of(a: Any, q: int, niter: int) -> Any:
    """An orthonormal basis of about the space that A's first q left singular vectors span."""
    orthonormal = LINALG["qr"]
    draws = FUNCTIONS["randn"](a.shape[-1], q, dtype=a.dtype, device=a.device)
    basis = orthonormal(a @ draws)[0]
    for _ in range(niter):
        basis = orthonormal(a @ orthonormal(a.mH @ basis)[0])[0]
    return basis


@public(method=False, out=False)
def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> Any:
    """U, S and V of the q largest singular values of A, or of A - M."""
    require_tensor("svd_lowrank", A, "A")
    count, times = 6 if q is None else q, 2 if niter is None else niter
    rows, columns = A.shape[-2:]
    a = A if M is None else A - M.broadcast_to(A.shape)
    wide = rows < columns
    if wide:
        a = a.mH
    basis = _range_of(a, count, times)
    u, s, vh = LINALG["svd"](basis.mH @ a, full_matrices=False)
    left, right = basis @ u, vh.mH
    return (right, s, left) if wide else (left, s, right)


@public(method=False, out=False)
def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
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
    data = A - A.mean(dim=-2, keepdim=True) if center else A
    return svd_lowrank(data, count, niter)
