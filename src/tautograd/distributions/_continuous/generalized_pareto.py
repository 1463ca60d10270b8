"""The generalized Pareto distribution: the excess over a high threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tautograd as torch
from tautograd import Size, Tensor, inf, nan

from .. import constraints
from ..distribution import Distribution

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Excesses over `loc`; `concentration` is the tail's weight: exponential at 0, bounded below 0."""

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    _expanded = ("loc", "scale", "concentration")

    loc: Tensor
    scale: Tensor
    concentration: Tensor

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self._take(validate_args, loc=loc, scale=scale, concentration=concentration)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """The quantiles of uniform numbers."""
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def _weight(self) -> tuple[Tensor, Tensor]:
        """Where the tail is exponential, and the concentration with 1 in those places."""
        is_zero = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        ones = torch.ones_like(self.concentration)
        return is_zero, torch.where(is_zero, ones, self.concentration)

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density."""
        self._check(value)
        z = self._z(value)
        is_zero, weight = self._weight()
        power = 1 / weight + torch.ones_like(z)
        bent = torch.where(power == 0, power, power * torch.log1p(weight * z))
        return -self.scale.log() - torch.where(is_zero, z, bent)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a draw above `value`."""
        self._check(value)
        z = self._z(value)
        is_zero, weight = self._weight()
        return torch.where(is_zero, -z, -torch.log1p(weight * z) / weight)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        return torch.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        """The quantile."""
        is_zero, weight = self._weight()
        log_left = torch.log1p(-value)
        bent = self.loc + self.scale / weight * torch.expm1(-weight * log_left)
        return torch.where(is_zero, self.loc - self.scale * log_left, bent)

    @property
    def mean(self) -> Tensor:
        """Defined for a concentration below 1."""
        valid = self.concentration < 1
        safe = torch.where(valid, self.concentration, 0.5)
        return torch.where(valid, self.loc + self.scale / (1 - safe), nan)

    @property
    def variance(self) -> Tensor:
        """Defined for a concentration below 1/2."""
        valid = self.concentration < 0.5
        safe = torch.where(valid, self.concentration, 0.25)
        result = self.scale**2 / ((1 - safe) ** 2 * (1 - 2 * safe))
        return torch.where(valid, result, nan)

    def entropy(self) -> Tensor:
        """log(scale) + concentration + 1."""
        result = torch.log(self.scale) + self.concentration + 1
        return torch.broadcast_to(result, self._batch_shape)

    @property
    def mode(self) -> Tensor:
        """`loc`."""
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From `loc` on; bounded above if the concentration is negative."""
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, torch.where(self.concentration < 0, end, inf))
