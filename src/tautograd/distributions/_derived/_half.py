"""The upper half of a distribution that is symmetric around zero: |x| for its draws x."""

from __future__ import annotations

import math
from typing import Any

import tautograd as torch
from tautograd import Tensor, inf

from .. import constraints
from .._members import delegated
from ..transforms import AbsTransform
from .transformed_distribution import TransformedDistribution


class Half(TransformedDistribution):
    """Twice the density of `_whole(0, scale)`, above zero."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _whole: Any

    scale: Tensor = delegated("base_dist.scale", "That of the whole distribution.")

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = self._whole(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def mode(self) -> Tensor:
        """Zero."""
        return torch.zeros_like(self.scale)

    def log_prob(self, value: Any) -> Tensor:
        """Twice the density, above zero."""
        self._check(value)
        log_prob = self.base_dist.log_prob(value) + math.log(2)
        return torch.where(value >= 0, log_prob, -inf)

    def cdf(self, value: Tensor) -> Tensor:
        """The probability on both sides of zero."""
        self._check(value)
        return 2 * self.base_dist.cdf(value) - 1  # type: ignore[no-any-return]

    def icdf(self, prob: Tensor) -> Tensor:
        """The upper quantile of the whole."""
        return self.base_dist.icdf((prob + 1) / 2)  # type: ignore[no-any-return]

    def entropy(self) -> Tensor:
        """The whole distribution's minus log 2."""
        return self.base_dist.entropy() - math.log(2)  # type: ignore[no-any-return]
