"""The half of a Normal distribution above zero."""

from __future__ import annotations

import math
from typing import Any

import tautograd as torch
from tautograd import Tensor, inf

from .. import constraints
from .._continuous.normal import Normal
from ..transforms import AbsTransform
from .transformed_distribution import TransformedDistribution

__all__ = ["HalfNormal"]


class HalfNormal(TransformedDistribution):
    """|x| of x drawn from Normal(0, scale)."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _expanded = ()

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = Normal(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """That of the whole distribution."""
        return self.base_dist.scale  # type: ignore[no-any-return]

    @property
    def mean(self) -> Tensor:
        """scale √(2/π)."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        """Zero."""
        return torch.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        """scale² (1 - 2/π)."""
        return self.scale.pow(2) * (1 - 2 / math.pi)

    def log_prob(self, value: Any) -> Tensor:
        """Twice the density, above zero."""
        self._check(value)
        log_prob = self.base_dist.log_prob(value) + math.log(2)
        return torch.where(value >= 0, log_prob, -inf)

    def cdf(self, value: Tensor) -> Tensor:
        """What lies on both sides of zero."""
        self._check(value)
        return 2 * self.base_dist.cdf(value) - 1  # type: ignore[no-any-return]

    def icdf(self, prob: Tensor) -> Tensor:
        """The upper quantile of the whole."""
        return self.base_dist.icdf((prob + 1) / 2)  # type: ignore[no-any-return]

    def entropy(self) -> Tensor:
        """log 2 less than the whole has."""
        return self.base_dist.entropy() - math.log(2)  # type: ignore[no-any-return]
