"""The negative binomial distribution: successes before a number of failures."""

from __future__ import annotations

from collections.abc import Sequence

import tautograd as torch
from tautograd import Size, Tensor
from tautograd.nn.functional import logsigmoid

from .. import constraints
from .._continuous.gamma import Gamma
from .._probs_logits import ProbsOrLogits
from ..utils import lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ProbsOrLogits):
    """The number of successes (with probability `probs`) before `total_count` failures.

    It is a Poisson distribution with a gamma-distributed rate, so `total_count` need not be an integer.
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _expanded = ("total_count", "probs", "logits")

    total_count: Tensor

    def __init__(
        self,
        total_count: Tensor | float,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_either(probs, logits, total_count)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """n p / (1 - p)."""
        return self.total_count * torch.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        """(n - 1) p / (1 - p), rounded down, or zero."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        """The mean divided by 1 - p."""
        return self.mean / torch.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        rate = torch.exp(-self.logits)
        return Gamma(concentration=self.total_count, rate=rate, validate_args=False)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draws."""
        with torch.no_grad():
            return torch.poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The log probability."""
        self._check(value)
        count = self.total_count
        powers = count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        ways = -torch.lgamma(count + value) + torch.lgamma(1.0 + value) + torch.lgamma(count)
        # No failure to wait for and no success: a single outcome, where lgamma has infinities.
        return powers - ways.masked_fill(count + value == 0.0, 0.0)
