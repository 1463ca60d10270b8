"""The uniform distribution on an interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tautograd as torch
from tautograd import Size, Tensor, nan

from .. import constraints
from ..distribution import Distribution

__all__ = ["Uniform"]


class Uniform(Distribution):
    """Numbers from `low` (inclusive) to `high` (exclusive)."""

    has_rsample = True
    _expanded = ("low", "high")

    low: Tensor
    high: Tensor

    def __init__(
        self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self._take(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> Any:
        """Each end bounds the other."""
        return {
            "low": constraints.less_than(self.high),
            "high": constraints.greater_than(self.low),
        }

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """The interval."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        """The middle."""
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        """NaN: all values are equally likely."""
        return nan * self.high

    @property
    def stddev(self) -> Tensor:
        """The width over √12."""
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        """A twelfth of the width's square."""
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """`low` plus a fraction of the width."""
        shape = self._extended_shape(sample_shape)
        part = torch.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + part * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        """Minus the log of the width inside, minus infinity outside."""
        self._check(value)
        from_low = self.low.le(value).type_as(self.low)
        below_high = self.high.gt(value).type_as(self.low)
        return torch.log(from_low.mul(below_high)) - torch.log(self.high - self.low)

    def cdf(self, value: Tensor) -> Tensor:
        """The fraction of the width below the value."""
        self._check(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        """`low` plus that fraction of the width."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        """The log of the width."""
        return torch.log(self.high - self.low)
