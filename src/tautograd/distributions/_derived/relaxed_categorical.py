"""The one-hot categorical distribution, relaxed to points of the simplex so that draws are
differentiable.

Maddison et al. (2017), "The concrete distribution"; Jang et al. (2017), "Categorical
reparametrization with Gumbel-softmax".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tautograd as torch
from tautograd import Size, Tensor

from .. import constraints
from .._discrete._over_categorical import OverCategorical
from .._members import delegated
from ..transforms import ExpTransform
from ..utils import broadcast_all, clamp_probs
from .transformed_distribution import TransformedDistribution

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OverCategorical):
    """The logarithms of `RelaxedOneHotCategorical`'s draws."""

    support = constraints.real_vector  # the draws lie on a surface within it
    has_rsample = True
    _expanded = ()
    _parts = ("_categorical",)
    _kept = ("temperature",)

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._choose_from(probs, logits)
        self.temperature = temperature
        self._begin(validate_args)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """The logits plus Gumbel numbers, divided by the temperature, normalised."""
        shape = self._extended_shape(sample_shape)
        kind: dict[str, Any] = {"dtype": self.logits.dtype, "device": self.logits.device}
        u = clamp_probs(torch.rand(shape, **kind))
        scores = (self.logits + -((-(u.log())).log())) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density."""
        classes = self._categorical._num_events
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        log_factorial = torch.full_like(self.temperature, float(classes)).lgamma()
        log_scale = log_factorial - self.temperature.log().mul(-(classes - 1))
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Points of the simplex, closer to a corner for lower temperatures."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    _expanded = ()

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    temperature: Tensor = delegated("base_dist.temperature", "The temperature.")
    logits: Tensor = delegated("base_dist.logits", "The log probabilities of the classes.")
    probs: Tensor = delegated("base_dist.probs", "The probabilities of the classes.")
