"""The inverse gamma distribution."""

from __future__ import annotations

import tautograd as torch
from tautograd import Tensor

from .. import constraints
from .._continuous.gamma import Gamma
from .._members import delegated
from ..transforms import PowerTransform
from .transformed_distribution import TransformedDistribution

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """1 / x of x drawn from Gamma(concentration, rate)."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _expanded = ()

    def __init__(
        self,
        concentration: Tensor | float,
        rate: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        inverted = PowerTransform(-base.rate.new_ones(()))
        super().__init__(base, inverted, validate_args=validate_args)

    concentration: Tensor = delegated("base_dist.concentration", "The gamma distribution's.")
    rate: Tensor = delegated("base_dist.rate", "The gamma distribution's.")

    @property
    def mean(self) -> Tensor:
        """rate / (concentration - 1), infinite up to 1."""
        result = self.rate / (self.concentration - 1)
        return torch.where(self.concentration > 1, result, torch.inf)

    @property
    def mode(self) -> Tensor:
        """rate / (concentration + 1)."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        """Infinite for a concentration up to 2."""
        a = self.concentration
        result = self.rate.square() / ((a - 1).square() * (a - 2))
        return torch.where(a > 2, result, torch.inf)

    def entropy(self) -> Tensor:
        """The entropy."""
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
