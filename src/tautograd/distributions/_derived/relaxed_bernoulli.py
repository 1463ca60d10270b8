"""The Bernoulli distribution, relaxed to numbers between 0 and 1 so that draws are differentiable.

Maddison et al. (2017), "The concrete distribution"; Jang et al. (2017), "Categorical
reparametrization with Gumbel-softmax".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tautograd as torch
from tautograd import Size, Tensor

from .. import constraints
from .._members import delegated
from .._probs_logits import ProbsOrLogits
from ..transforms import SigmoidTransform
from ..utils import broadcast_all, clamp_probs
from .transformed_distribution import TransformedDistribution

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ProbsOrLogits):
    """The logits of `RelaxedBernoulli`'s draws."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _expanded = ("probs", "logits")
    _kept = ("_given", "temperature")

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._set_either(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """The log-odds plus those of a uniform number, divided by the temperature."""
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(torch.rand(shape, dtype=probs.dtype, device=probs.device))
        noisy = u.log() - (-u).log1p() + probs.log() - (-probs).log1p()
        return noisy / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density."""
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        apart = logits - value.mul(self.temperature)
        return self.temperature.log() + apart - 2 * apart.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1), closer to 0 and 1 for lower temperatures."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _expanded = ()

    def __init__(
        self,
        temperature: Tensor,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    temperature: Tensor = delegated("base_dist.temperature", "The temperature.")
    logits: Tensor = delegated("base_dist.logits", "The log-odds of 1.")
    probs: Tensor = delegated("base_dist.probs", "The probability of 1.")
