"""Divergences between multivariate normal distributions, with full or low-rank covariances.

KL = ½ (log |Q| / |P| + tr(Q⁻¹ P) + (μq - μp)ᵀ Q⁻¹ (μq - μp) - n), for covariances P and Q.
"""

from __future__ import annotations

from typing import Any

import tautograd as torch
from tautograd import Tensor

from .._multivariate.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_logdet,
    _batch_lowrank_mahalanobis,
)
from .._multivariate.multivariate_normal import (
    MultivariateNormal,
    _batch_mahalanobis,
    half_log_det,
)
from ._registry import register_kl


def _batch_trace_XXT(bmat: Tensor) -> Tensor:
    """tr(X Xᵀ): the sum of squares."""
    rows, columns = bmat.shape[-2:]
    return bmat.reshape(-1, rows * columns).pow(2).sum(-1).reshape(bmat.shape[:-2])


def _require_one_size(p: Any, q: Any, called: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between two {called} with different event shapes cannot be computed"
        )


def _log_det(d: Any) -> Tensor:
    return _batch_lowrank_logdet(
        d._unbroadcasted_cov_factor, d._unbroadcasted_cov_diag, d._capacitance_tril
    )


def _lowrank_distance(p: Any, q: Any) -> Tensor:
    return _batch_lowrank_mahalanobis(
        q._unbroadcasted_cov_factor,
        q._unbroadcasted_cov_diag,
        q.loc - p.loc,
        q._capacitance_tril,
    )


def _half_correction(q: Any) -> Tensor:
    """The A of Q⁻¹ = D⁻¹ - Aᵀ A."""
    scaled = q._unbroadcasted_cov_factor.mT / q._unbroadcasted_cov_diag.unsqueeze(-2)
    return torch.linalg.solve_triangular(q._capacitance_tril, scaled, upper=False)


def _expanded(matrix: Tensor, batch: Any) -> Tensor:
    return matrix.expand((*batch, *matrix.shape[-2:]))


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(p: Any, q: Any) -> Tensor:
    _require_one_size(p, q, "Low Rank Multivariate Normals")
    dets, distance = _log_det(q) - _log_det(p), _lowrank_distance(p, q)
    A = _half_correction(q)
    p_diag, q_diag = p._unbroadcasted_cov_diag, q._unbroadcasted_cov_diag
    trace = (
        (p_diag / q_diag).sum(-1)
        + _batch_trace_XXT(p._unbroadcasted_cov_factor * q_diag.rsqrt().unsqueeze(-1))
        - _batch_trace_XXT(A * p_diag.sqrt().unsqueeze(-2))
        - _batch_trace_XXT(A.matmul(p._unbroadcasted_cov_factor))
    )
    return 0.5 * (dets + trace + distance - p.event_shape[0])  # type: ignore[no-any-return]


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrankmultivariatenormal(p: Any, q: Any) -> Tensor:
    _require_one_size(p, q, "(Low Rank) Multivariate Normals")
    tril = p._unbroadcasted_scale_tril
    dets, distance = _log_det(q) - 2 * half_log_det(tril), _lowrank_distance(p, q)
    scaled = tril * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)
    trace = _batch_trace_XXT(scaled) - _batch_trace_XXT(_half_correction(q).matmul(tril))
    return 0.5 * (dets + trace + distance - p.event_shape[0])  # type: ignore[no-any-return]


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrankmultivariatenormal_multivariatenormal(p: Any, q: Any) -> Tensor:
    _require_one_size(p, q, "(Low Rank) Multivariate Normals")
    tril, factor = q._unbroadcasted_scale_tril, p._unbroadcasted_cov_factor
    dets = 2 * half_log_det(tril) - _log_det(p)
    distance = _batch_mahalanobis(tril, q.loc - p.loc)
    batch = torch.broadcast_shapes(tril.shape[:-2], factor.shape[:-2])
    root = torch.diag_embed(p._unbroadcasted_cov_diag.sqrt())
    parts = (_expanded(part, batch) for part in (factor, root))
    solved = (
        torch.linalg.solve_triangular(_expanded(tril, batch), part, upper=False) for part in parts
    )
    of_factor, of_diagonal = (_batch_trace_XXT(part) for part in solved)
    return 0.5 * (dets + (of_factor + of_diagonal) + distance - p.event_shape[0])  # type: ignore[no-any-return]


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p: Any, q: Any) -> Tensor:
    _require_one_size(p, q, "Multivariate Normals")
    p_tril, q_tril = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    half_dets = half_log_det(q_tril) - half_log_det(p_tril)
    batch = torch.broadcast_shapes(q_tril.shape[:-2], p_tril.shape[:-2])
    solved = torch.linalg.solve_triangular(
        _expanded(q_tril, batch), _expanded(p_tril, batch), upper=False
    )
    distance = _batch_mahalanobis(q_tril, q.loc - p.loc)
    return half_dets + 0.5 * (_batch_trace_XXT(solved) + distance - p.event_shape[0])  # type: ignore[no-any-return]
