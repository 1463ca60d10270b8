"""The Laplace distribution: an exponential one on each side."""

from __future__ import annotations

from collections.abc import Sequence

import tautograd as torch
from tautograd import Size, Tensor

from .._members import Symmetric
from ._loc_scale import LocScale

__all__ = ["Laplace"]


class Laplace(Symmetric, LocScale):
    """Numbers around `loc` whose mean distance from it is `scale`."""

    _expanded = ("loc", "scale")

    @property
    def variance(self) -> Tensor:
        """Twice the square of `scale`."""
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        """√2 times `scale`."""
        return (2**0.5) * self.scale

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """The quantile of a uniform number from (-1, 1), whose sign chooses the side."""
        shape = self._extended_shape(sample_shape)
        u = self.loc.new(shape).uniform_(torch.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * torch.log1p(-u.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density."""
        self._check(value)
        return -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        """One half, plus or minus the probability between `loc` and the value."""
        self._check(value)
        apart = value - self.loc
        return 0.5 - 0.5 * apart.sign() * torch.expm1(-apart.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of that."""
        side = value - 0.5
        return self.loc - self.scale * side.sign() * torch.log1p(-2 * side.abs())

    def entropy(self) -> Tensor:
        """1 + log(2 scale)."""
        return 1 + torch.log(2 * self.scale)
