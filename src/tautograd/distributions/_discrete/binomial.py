"""The binomial distribution: successes in a number of trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tautograd as torch
from tautograd import Size, Tensor

from .. import constraints
from .._probs_logits import ProbsOrLogits
from ._support import enumerated

__all__ = ["Binomial"]


def _clamp_by_zero(x: Tensor) -> Tensor:
    """max(x, 0), with the gradient 1/2 at 0."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(ProbsOrLogits):
    """How many of `total_count` trials succeed, each with probability `probs`."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _expanded = ("total_count", "probs", "logits")

    total_count: Tensor

    def __init__(
        self,
        total_count: Tensor | int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_either(probs, logits, total_count)
        super().__init__(self._param.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """Integers up to the number of trials."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        """n p."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        """(n + 1) p, rounded down."""
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        """n p (1 - p)."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draws."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The log probability."""
        self._check(value)
        n, logits = self.total_count, self.logits
        log_n, log_k, log_rest = (torch.lgamma(x + 1) for x in (n, value, n - value))
        # k log p + (n - k) log(1 - p) = k logit - n log(1 + e^logit), written for either
        # sign of the logit: n max(logit, 0) + n log1p(e^-|logit|).
        softplus = n * _clamp_by_zero(logits) + n * torch.log1p(torch.exp(-torch.abs(logits)))
        return value * logits - log_k - log_rest - (softplus - log_n)

    def _one_count(self, what: str) -> int:
        total = int(self.total_count.max())
        if not self.total_count.min() == total:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{what}`.")
        return total

    def entropy(self) -> Tensor:
        """The sum over all values."""
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(torch.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 up to the number of trials, which must be the same for all."""
        count = 1 + self._one_count("enumerate_support")
        values = torch.arange(count, dtype=self._param.dtype, device=self._param.device)
        return enumerated(values, self._batch_shape, expand)
