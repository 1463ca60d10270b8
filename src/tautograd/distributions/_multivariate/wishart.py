"""The Wishart distribution: random covariances."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import tautograd as torch
from tautograd import Size, Tensor, nan

from .. import constraints
from .._continuous.chi2 import Chi2
from ..exp_family import ExponentialFamily
from ..utils import Number, lazy_property
from .multivariate_normal import half_log_det, scale_tril_of, the_one_matrix

__all__ = ["Wishart"]


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of `mvlgamma`."""
    if not x.gt((p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    halves = torch.arange(p, dtype=x.dtype, device=x.device).div(2)
    return torch.digamma(x.unsqueeze(-1) - halves.expand((*x.shape, -1))).sum(-1)


class Wishart(ExponentialFamily):
    """Sums of x xᵀ over `df` normal vectors, given by their covariance, precision or Cholesky factor.

    With few degrees of freedom a draw can be singular; such draws are repeated (see `rsample`).
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _expanded = ("df", "covariance_matrix", "scale_tril", "precision_matrix")

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, param = the_one_matrix(
            AssertionError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if param.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch dimensions"
            )
        if isinstance(df, Number):
            batch_shape = Size(param.shape[:-2])
            self.df = torch.tensor(df, dtype=param.dtype, device=param.device)
        else:
            batch_shape = torch.broadcast_shapes(param.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        p = param.shape[-1]
        if self.df.le(p - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {p - 1}.")
        self.__dict__[name] = param.expand((*batch_shape, -1, -1))
        if self.df.lt(p).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for "
                "ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch_shape, param.shape[-2:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = scale_tril_of(name, param)
        self._dist_chi2 = self._chi2_of_rows()

    @property
    def arg_constraints(self) -> Any:
        """The required degrees of freedom depend on the size of the matrices."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def _chi2_of_rows(self) -> Chi2:
        """Bartlett's decomposition: row i of the triangle has df - i degrees of freedom left."""
        tril = self._unbroadcasted_scale_tril
        rows = torch.arange(self._event_shape[-1], dtype=tril.dtype, device=tril.device)
        return Chi2(df=self.df.unsqueeze(-1) - rows.expand((*self._batch_shape, -1)))

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """The same distribution for a batch of this shape."""
        new = super().expand(batch_shape, _instance)
        shape = Size(batch_shape) + self.event_shape
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand(shape)
        new._dist_chi2 = new._chi2_of_rows()
        return new

    @property
    def _batch_dims(self) -> list[int]:
        return [-(x + 1) for x in range(len(self._batch_shape))]

    def _batched(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._batched(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance of the vectors."""
        tril = self._unbroadcasted_scale_tril
        return self._batched(tril @ tril.transpose(-2, -1))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """Its inverse."""
        tril = self._unbroadcasted_scale_tril
        identity = torch.eye(self._event_shape[-1], device=tril.device, dtype=tril.dtype)
        return self._batched(torch.cholesky_solve(identity, tril))

    @property
    def mean(self) -> Tensor:
        """df times the covariance."""
        return self.df.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        """(df - p - 1) times the covariance, where that is positive."""
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor[factor <= 0] = nan
        return factor.view((*self._batch_shape, 1, 1)) * self.covariance_matrix  # type: ignore[no-any-return]

    @property
    def variance(self) -> Tensor:
        """df (V_ij² + V_ii V_jj)."""
        V = self.covariance_matrix
        diagonal = V.diagonal(dim1=-2, dim2=-1)
        outer = torch.einsum("...i,...j->...ij", diagonal, diagonal)
        return self.df.view((*self._batch_shape, 1, 1)) * (V.pow(2) + outer)

    def _bartlett_sampling(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        p = self._event_shape[-1]
        roots = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = roots.clamp(min=torch.finfo(roots.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        i, j = torch.tril_indices(p, p, offset=-1)
        shape = Size(sample_shape) + self._batch_shape + (p * (p - 1) // 2,)
        noise[..., i, j] = torch.randn(shape, dtype=noise.dtype, device=noise.device)
        tril = self._unbroadcasted_scale_tril @ noise
        return tril @ tril.transpose(-2, -1)

    def _any_of_batch(self, mask: Tensor) -> Tensor:
        return mask.amax(self._batch_dims) if self._batch_shape else mask

    def rsample(
        self,
        sample_shape: Sequence[int] = Size(),
        max_try_correction: int | None = None,
    ) -> Tensor:
        """Draw by Bartlett's decomposition; singular draws are repeated up to `max_try_correction` (10)
        times.

        PyTorch's first check for singular draws selects those that are *not*, with a warning that
        says the opposite; the numbers it redraws are part of the stream, so that is kept.
        """
        tries = 10 if max_try_correction is None else max_try_correction
        sample_shape = Size(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        again = self._any_of_batch(self.support.check(sample))
        if again.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
            for _ in range(tries):
                new = self._bartlett_sampling(again[again].shape)
                sample[again] = new
                still = torch.zeros_like(again)  # a separate mask: backward needs the old one
                still[again] = self._any_of_batch(~self.support.check(new))
                again = still
                if not again.any():
                    break
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density."""
        self._check(value)
        nu, p, tril = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        trace = torch.cholesky_solve(value, tril).diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        return (  # type: ignore[no-any-return]
            -nu * (p * math.log(2) / 2 + half_log_det(tril))
            - torch.mvlgamma(nu / 2, p=p)
            + (nu - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet
            - trace / 2
        )

    def entropy(self) -> Tensor:
        """The entropy."""
        nu, p, tril = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        return (  # type: ignore[no-any-return]
            (p + 1) * (p * math.log(2) / 2 + half_log_det(tril))
            + torch.mvlgamma(nu / 2, p=p)
            - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p=p)
            + nu * p / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        p = self._event_shape[-1]
        return -self.precision_matrix / 2, (self.df - p - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        p = self._event_shape[-1]
        shifted = y + (p + 1) / 2
        log_det = -torch.linalg.slogdet(-2 * x).logabsdet + math.log(2) * p
        return shifted * log_det + torch.mvlgamma(shifted, p=p)
