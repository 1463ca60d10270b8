"""The Pareto distribution: a power law."""

from __future__ import annotations

from typing import Any

from tautograd import Tensor

from .. import constraints
from .._continuous.exponential import Exponential
from ..transforms import AffineTransform, ExpTransform
from ..utils import broadcast_all
from .transformed_distribution import TransformedDistribution

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """scale · exp(t), for t exponential with the rate `alpha`."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    _expanded = ("scale", "alpha")

    def __init__(
        self, scale: Tensor | float, alpha: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        transforms = [ExpTransform(), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """Infinite for an alpha up to 1."""
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        """`scale`."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """Infinite for an alpha up to 2."""
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From `scale` on."""
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Tensor:
        """log(scale / alpha) + 1 + 1 / alpha."""
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
