"""The multivariate normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tautograd as torch
from tautograd import Size, Tensor

from .. import constraints
from .._members import Symmetric
from ..distribution import Distribution
from ..utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Batched matrix-vector products, with broadcasting."""
    return torch.matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL: Tensor, bx: Tensor) -> Tensor:
    """xᵀ (L Lᵀ)⁻¹ x, for batches of triangular matrices L that broadcast to those of x.

    L is not expanded: each system is solved once, for all vectors that belong to it. For that, each
    dimension of x's batch is split into L's own size and how often L is repeated along it.
    """
    n = bx.size(-1)
    batch = bx.shape[:-1]
    inner = bL.dim() - 2
    outer = len(batch) - inner
    repeats = [x // own for own, x in zip(bL.shape[:-2], batch[outer:], strict=True)]
    pairs = [size for pair in zip(repeats, bL.shape[:-2], strict=True) for size in pair]
    bx = bx.reshape((*batch[:outer], *pairs, n))
    repeated = list(range(outer, outer + 2 * inner, 2))
    own = list(range(outer + 1, outer + 2 * inner, 2))
    bx = bx.permute([*range(outer), *repeated, *own, outer + 2 * inner])

    flat_L = bL.reshape(-1, n, n)
    flat_x = bx.reshape(-1, flat_L.size(0), n).permute(1, 2, 0)  # a column for each vector
    solved = torch.linalg.solve_triangular(flat_L, flat_x, upper=False)
    distances = solved.pow(2).sum(-2).t().reshape(bx.shape[:-1])
    back = [dim for i in range(inner) for dim in (outer + i, outer + inner + i)]
    return distances.permute([*range(outer), *back]).reshape(batch)


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """The L of (L Lᵀ)⁻¹ = P: the Cholesky factor of P flipped is L's inverse, flipped and transposed."""
    factor = torch.linalg.cholesky(torch.flip(P, (-2, -1)))
    inverse = torch.transpose(torch.flip(factor, (-2, -1)), -2, -1)
    identity = torch.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return torch.linalg.solve_triangular(inverse, identity, upper=False)


def half_log_det(tril: Tensor) -> Tensor:
    """The log determinant of a triangular matrix: half of that of L Lᵀ."""
    return tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def the_one_matrix(error: type[Exception], **matrices: Tensor | None) -> tuple[str, Tensor]:
    """Which of a covariance, its inverse and its Cholesky factor is given, by its argument's name."""
    given = [(name, value) for name, value in matrices.items() if value is not None]
    if len(given) != 1:
        raise error(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
        )
    return given[0]


class MultivariateNormal(Symmetric, Distribution):
    """Vectors around `loc`, with a covariance, its inverse, or its Cholesky factor.

    Exactly one of `covariance_matrix`, `precision_matrix` and `scale_tril` is given; the others
    follow. Computations use `scale_tril`.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _expanded = ("loc", "covariance_matrix", "scale_tril", "precision_matrix")
    _kept = ("_unbroadcasted_scale_tril",)

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = the_one_matrix(
            ValueError,
            scale_tril=scale_tril,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
        )
        if matrix.dim() < 2:
            called = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(
                f"{called} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.__dict__[name] = matrix.expand((*batch_shape, -1, -1))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = scale_tril_of(name, matrix)

    def _batched(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._batched(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """L Lᵀ."""
        tril = self._unbroadcasted_scale_tril
        return self._batched(torch.matmul(tril, tril.mT))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._batched(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def variance(self) -> Tensor:
        """The diagonal of the covariance."""
        diagonal = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return diagonal.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """`loc` plus the triangular matrix times standard normal numbers."""
        shape = self._extended_shape(sample_shape)
        eps = _standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, eps)

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density."""
        self._check(value)
        tril = self._unbroadcasted_scale_tril
        distance = _batch_mahalanobis(tril, value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + distance) - half_log_det(tril)  # type: ignore[no-any-return]

    def entropy(self) -> Tensor:
        """The entropy."""
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        result = constant + half_log_det(self._unbroadcasted_scale_tril)
        return result.expand(self._batch_shape) if self._batch_shape else result  # type: ignore[no-any-return]


def scale_tril_of(name: str, matrix: Any) -> Tensor:
    """The Cholesky factor of the covariance, from whichever matrix was given."""
    if name == "scale_tril":
        return matrix  # type: ignore[no-any-return]
    if name == "covariance_matrix":
        return torch.linalg.cholesky(matrix)
    return _precision_to_scale_tril(matrix)
