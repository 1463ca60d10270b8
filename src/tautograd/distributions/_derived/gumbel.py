"""The Gumbel distribution: the maximum of many draws."""

from __future__ import annotations

import math

import tautograd as torch
from tautograd import Tensor

from .. import constraints
from .._continuous.uniform import Uniform
from ..transforms import AffineTransform, ExpTransform
from ..utils import Number, broadcast_all, euler_constant
from .transformed_distribution import TransformedDistribution

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """loc - scale log(-log u), for u uniform."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _expanded = ("loc", "scale")

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = torch.finfo(self.loc.dtype)
        low, high = limits.tiny, 1 - limits.eps
        if isinstance(loc, Number) and isinstance(scale, Number):
            base = Uniform(low, high, validate_args=validate_args)
        else:
            ends = torch.full_like(self.loc, low), torch.full_like(self.loc, high)
            base = Uniform(*ends, validate_args=validate_args)
        transforms = [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-torch.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc=loc, scale=-self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density by a direct formula: through the transforms, digits would be lost."""
        self._check(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self) -> Tensor:
        """loc + γ scale."""
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        """`loc`."""
        return self.loc

    @property
    def stddev(self) -> Tensor:
        """π scale / √6."""
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Tensor:
        """The square of that."""
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        """log(scale) + 1 + γ."""
        return self.scale.log() + (1 + euler_constant)
