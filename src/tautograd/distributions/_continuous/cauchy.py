"""The Cauchy distribution, which has no mean and no variance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import tautograd as torch
from tautograd import Size, Tensor

from ._loc_scale import LocScale

__all__ = ["Cauchy"]


class Cauchy(LocScale):
    """The ratio of two normal numbers, around `loc`; half of the draws are within `scale`."""

    _expanded = ("loc", "scale")

    def _constant(self, value: float) -> Tensor:
        shape = self._extended_shape()
        return torch.full(shape, value, dtype=self.loc.dtype, device=self.loc.device)

    @property
    def mean(self) -> Tensor:
        """NaN: the integral does not exist."""
        return self._constant(math.nan)

    @property
    def mode(self) -> Tensor:
        """`loc`."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """Infinite."""
        return self._constant(math.inf)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """`loc` plus a multiple of `scale`."""
        eps = self.loc.new(self._extended_shape(sample_shape)).cauchy_()
        return self.loc + eps * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density."""
        self._check(value)
        z = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (z**2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        """Computed by the arc tangent."""
        self._check(value)
        return torch.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        """Computed by the tangent."""
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        """log(4π scale)."""
        return math.log(4 * math.pi) + self.scale.log()
