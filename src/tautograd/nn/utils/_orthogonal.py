"""Orthogonal matrices as a function of any matrix.

The exponential and the Cayley map send a skew-symmetric matrix to an orthogonal one; Householder
reflections are given by the columns below the diagonal. With a *trivialization* the result is
multiplied by a fixed orthogonal matrix, the base, so that every value can be assigned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tautograd as torch

from ..._tensor.tensor import Tensor
from ..modules.module import Module


def _exponential(skew: Tensor) -> Tensor:
    return torch.matrix_exp(skew)


def _cayley(skew: Tensor) -> Tensor:
    """(I - A/2)⁻¹ (I + A/2)."""
    one = torch.eye(skew.shape[-1], dtype=skew.dtype)
    return torch.linalg.solve(torch.add(one, skew, alpha=-0.5), torch.add(one, skew, alpha=0.5))


_OF_SKEW: dict[str, Callable[[Tensor], Tensor]] = {"matrix_exp": _exponential, "cayley": _cayley}
orthogonal_maps = ("matrix_exp", "cayley", "householder")


def _is_orthogonal(q: Tensor) -> bool:
    n, k = q.shape[-2:]
    tolerance = 10.0 * n * torch.finfo(q.dtype).eps
    return bool(torch.allclose(q.mH @ q, torch.eye(k, dtype=q.dtype), atol=tolerance))


def _made_orthogonal(a: Tensor) -> Tensor:
    """The Q of a QR decomposition whose R has a positive diagonal."""
    x, tau = torch.geqrf(a)
    q: Any = torch.linalg.householder_product(x, tau)
    q *= x.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
    found: Tensor = q
    return found


class _Orthogonal(Module):
    """The parametrization; matrices wider than high have orthogonal rows."""

    base: Any

    def __init__(
        self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.shape[-2] < x.shape[-1]
        if wide:
            x = x.mT
        if self.orthogonal_map == "householder":
            q = self._reflections(x)
        else:
            q = self._from_skew(x)
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    def _from_skew(self, x: Tensor) -> Tensor:
        n, k = x.shape[-2:]
        x = x.tril()
        if n != k:  # padded to a square matrix
            rest = x.new_zeros(n, n - k).expand(*x.shape[:-2], -1, -1)
            x = torch.cat([x, rest], dim=-1)
        q = _OF_SKEW[self.orthogonal_map](x - x.mH)
        return q if n == k else q[..., :k]

    def _reflections(self, x: Tensor) -> Tensor:
        """The diagonal of x, of ones and minus ones, chooses the determinant."""
        below = x.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (below * below).sum(dim=-2))
        q = torch.linalg.householder_product(below, tau)
        return q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    def right_inverse(self, q: Tensor) -> Tensor:
        """The preimage of this matrix under `forward`, or the nearest orthogonal matrix."""
        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of "
                f"shape {q.shape}."
            )
        with torch.no_grad():
            if hasattr(self, "base"):
                return self._move_base(q)
            return self._inverse_reflections(q)

    def _inverse_reflections(self, q: Tensor) -> Tensor:
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False."
            )
        wide = q.shape[-2] < q.shape[-1]
        a, tau = torch.geqrf(q.mT if wide else q)
        diagonal = a.diagonal(dim1=-2, dim2=-1)
        diagonal.sign_()
        # A reflection by zero is the identity: keep the sign that it would have flipped.
        diagonal[tau == 0.0] *= -1
        return a.mT if wide else a

    def _move_base(self, given: Tensor) -> Tensor:
        """The matrix becomes the base; the factor multiplied with it, the identity."""
        q = given.mT if given.shape[-2] < given.shape[-1] else given
        n, k = q.shape[-2:]
        if n != k:  # completed to a square matrix by random columns
            rest = torch.randn(*q.shape[:-2], n, n - k, dtype=q.dtype)
            q = _made_orthogonal(torch.cat([q, rest], dim=-1))
        else:
            q = q.clone() if _is_orthogonal(q) else _made_orthogonal(q)
        self.base = q
        start = torch.zeros_like(given)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start
