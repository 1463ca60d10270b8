"""The Weibull distribution: lifetimes with an age-dependent failure rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tautograd as torch
from tautograd import Tensor

from .. import constraints
from .._continuous.exponential import Exponential
from ..transforms import AffineTransform, PowerTransform, Transform
from ..utils import broadcast_all, euler_constant
from .transformed_distribution import TransformedDistribution

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """scale · t^(1 / concentration), for t exponential."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _expanded = ("scale", "concentration")

    def __init__(
        self,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(torch.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, self._own_transforms(), validate_args=validate_args)

    def _own_transforms(self) -> list[Transform]:
        power = PowerTransform(exponent=self.concentration_reciprocal)
        return [power, AffineTransform(loc=0, scale=self.scale)]

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """The same distribution for a batch of this shape, with transforms of its own."""
        new = super().expand(batch_shape, _instance)
        new.concentration_reciprocal = new.concentration.reciprocal()
        new.transforms = new._own_transforms()
        return new

    @property
    def mean(self) -> Tensor:
        """scale Γ(1 + 1 / concentration)."""
        return self.scale * torch.exp(torch.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self) -> Tensor:
        """scale (1 - 1 / concentration)^(1 / concentration)."""
        share = (self.concentration - 1) / self.concentration
        return self.scale * share ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        """The second moment minus the square of the mean."""
        second = torch.exp(torch.lgamma(1 + 2 * self.concentration_reciprocal))
        first = torch.exp(2 * torch.lgamma(1 + self.concentration_reciprocal))
        return self.scale.pow(2) * (second - first)

    def entropy(self) -> Tensor:
        """γ (1 - 1 / concentration) + log(scale / concentration) + 1."""
        log = torch.log(self.scale * self.concentration_reciprocal)
        return euler_constant * (1 - self.concentration_reciprocal) + log + 1
