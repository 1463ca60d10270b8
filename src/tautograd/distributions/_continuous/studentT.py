"""Student's t-distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

import tautograd as torch
from tautograd import Size, Tensor, inf, nan

from .. import constraints
from ..distribution import Distribution
from ..utils import _standard_normal, broadcast_all
from .chi2 import Chi2

__all__ = ["StudentT"]


class StudentT(Distribution):
    """A normal number over the root of a chi-squared one divided by its degrees of freedom."""

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    _expanded = ("df", "loc", "scale")
    _parts = ("_chi2",)

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """`loc`, if there is a mean: above one degree of freedom."""
        mean = self.loc.clone(memory_format=torch.contiguous_format)
        mean[self.df <= 1] = nan
        return mean

    @property
    def mode(self) -> Tensor:
        """`loc`."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """Finite above two degrees of freedom, undefined up to one."""
        result = self.df.clone(memory_format=torch.contiguous_format)
        finite = self.df > 2
        df = self.df[finite]
        result[finite] = self.scale[finite].pow(2) * df / (df - 2)
        result[(self.df <= 2) & (self.df > 1)] = inf
        result[self.df <= 1] = nan
        return result

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """A normal number over the root of a chi-squared one divided by its degrees of freedom."""
        shape = self._extended_shape(sample_shape)
        x = _standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (x * torch.rsqrt(z / self.df))

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density."""
        self._check(value)
        y = (value - self.loc) / self.scale
        normalizer = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + torch.lgamma(0.5 * self.df)
            - torch.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * torch.log1p(y**2.0 / self.df) - normalizer

    def entropy(self) -> Tensor:
        """The entropy."""
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = torch.lgamma(half) + math.lgamma(0.5) - torch.lgamma(more)
        return (
            self.scale.log()
            + 0.5 * (self.df + 1) * (torch.digamma(more) - torch.digamma(half))
            + 0.5 * self.df.log()
            + log_beta
        )
