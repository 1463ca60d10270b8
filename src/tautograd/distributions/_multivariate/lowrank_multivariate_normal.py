"""The multivariate normal distribution with covariance W Wᵀ + D, where W has few columns.

The determinant lemma and Woodbury's identity reduce everything to the capacitance matrix
I + Wᵀ D⁻¹ W, which has only as many rows as W has columns.
"""

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
from .multivariate_normal import _batch_mahalanobis, _batch_mv

__all__ = ["LowRankMultivariateNormal"]


def _plus_identity_cholesky(K: Tensor) -> Tensor:
    """The Cholesky factor of I + K."""
    m = K.size(-1)
    K = K.contiguous()
    K.view(-1, m * m)[:, :: m + 1] += 1
    return torch.linalg.cholesky(K)


def _batch_capacitance_tril(W: Tensor, D: Tensor) -> Tensor:
    return _plus_identity_cholesky(torch.matmul(W.mT / D.unsqueeze(-2), W))


def _batch_lowrank_logdet(W: Tensor, D: Tensor, capacitance_tril: Tensor) -> Tensor:
    """log |W Wᵀ + D| = log |I + Wᵀ D⁻¹ W| + log |D|."""
    capacitance = 2 * capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    return capacitance + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W: Tensor, D: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    """xᵀ (W Wᵀ + D)⁻¹ x = xᵀ D⁻¹ x minus the squared norm of Wᵀ D⁻¹ x in the capacitance's metric."""
    projected = _batch_mv(W.mT / D.unsqueeze(-2), x)
    return (x.pow(2) / D).sum(-1) - _batch_mahalanobis(capacitance_tril, projected)


class LowRankMultivariateNormal(Symmetric, Distribution):
    """Vectors around `loc` with the covariance `cov_factor @ cov_factor.T + diag(cov_diag)`."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _expanded = ("loc", "cov_factor", "cov_diag")
    _kept = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(
        self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
            )
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(
                f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m"
            )
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            columns = torch.broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_factor, self.cov_diag = (
            columns[0][..., 0],
            columns[1],
            columns[2][..., 0],
        )
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    @lazy_property
    def variance(self) -> Tensor:
        """The diagonal of the covariance."""
        factor, diagonal = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        return (factor.pow(2).sum(-1) + diagonal).expand(self._batch_shape + self._event_shape)

    def _batched(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """√D times the Cholesky factor of I + √D⁻¹ W Wᵀ √D⁻¹."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        return self._batched(root * _plus_identity_cholesky(torch.matmul(scaled, scaled.mT)))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """W Wᵀ + D."""
        factor = self._unbroadcasted_cov_factor
        diagonal = torch.diag_embed(self._unbroadcasted_cov_diag)
        return self._batched(torch.matmul(factor, factor.mT) + diagonal)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """D⁻¹ - Aᵀ A, where the capacitance's factor times A is Wᵀ D⁻¹."""
        diagonal = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
        A = torch.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._batched(torch.diag_embed(diagonal.reciprocal()) - A.mT @ A)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """`loc`, plus W times as many normal numbers as it has columns, plus √D times others."""
        shape = self._extended_shape(sample_shape)
        kind: dict[str, Any] = {"dtype": self.loc.dtype, "device": self.loc.device}
        eps_W = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], **kind)
        eps_D = _standard_normal(shape, **kind)
        along = _batch_mv(self._unbroadcasted_cov_factor, eps_W)
        return self.loc + along + self._unbroadcasted_cov_diag.sqrt() * eps_D

    def _log_det(self) -> Tensor:
        return _batch_lowrank_logdet(
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        )

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density."""
        self._check(value)
        distance = _batch_lowrank_mahalanobis(
            self._unbroadcasted_cov_factor,
            self._unbroadcasted_cov_diag,
            value - self.loc,
            self._capacitance_tril,
        )
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + self._log_det() + distance)  # type: ignore[no-any-return]

    def entropy(self) -> Tensor:
        """The entropy."""
        result = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return result.expand(self._batch_shape) if self._batch_shape else result  # type: ignore[no-any-return]
