"""Fisher's and Snedecor's F-distribution."""

from __future__ import annotations

from collections.abc import Sequence

import tautograd as torch
from tautograd import Size, Tensor, nan

from .. import constraints
from ..distribution import Distribution
from ..utils import broadcast_all
from .gamma import Gamma

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The ratio of two chi-squared numbers, each divided by its degrees of freedom."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _expanded = ("df1", "df2")
    _parts = ("_gamma1", "_gamma2")

    def __init__(
        self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.size(), validate_args=validate_args)

    def _df2_above(self, bound: float) -> Tensor:
        df2 = self.df2.clone(memory_format=torch.contiguous_format)
        df2[df2 <= bound] = nan
        return df2

    @property
    def mean(self) -> Tensor:
        """Defined for `df2` above 2."""
        df2 = self._df2_above(2)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        """Defined for `df1` above 2."""
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        mode[self.df1 <= 2] = nan
        return mode

    @property
    def variance(self) -> Tensor:
        """Defined for `df2` above 4."""
        df2 = self._df2_above(4)
        above = 2 * df2.pow(2) * (self.df1 + df2 - 2)
        return above / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Sequence[int] = Size(())) -> Tensor:
        """The ratio of two gamma numbers, kept above zero."""
        shape = self._extended_shape(sample_shape)
        above = self._gamma1.rsample(sample_shape).view(shape)
        below = self._gamma2.rsample(sample_shape).view(shape)
        tiny = torch.finfo(below.dtype).tiny
        below.clamp_(min=tiny)
        quotient = above / below
        quotient.clamp_(min=tiny)
        return quotient

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density."""
        self._check(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        normalizer = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        powers = half1 * ratio.log() + (half1 - 1) * torch.log(value)
        return normalizer + powers - (half1 + half2) * torch.log1p(ratio * value)
