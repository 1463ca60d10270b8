"""The one-hot categorical distribution, relaxed to points of the simplex that gradients go through.

Maddison et al. (2017), "The concrete distribution"; Jang et al. (2017), "Categorical
reparametrization with Gumbel-softmax".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tautograd as torch
from tautograd import Size, Tensor

from .. import constraints
from .._discrete.categorical import Categorical
from ..distribution import Distribution
from ..transforms import ExpTransform
from ..utils import broadcast_all, clamp_probs
from .transformed_distribution import TransformedDistribution

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Distribution):
    """The logarithms of `RelaxedOneHotCategorical`'s draws."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector  # the draws lie on a surface in it
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
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        event_shape = self._categorical.param_shape[-1:]
        super().__init__(self._categorical.batch_shape, event_shape, validate_args=validate_args)

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @property
    def param_shape(self) -> Size:
        """The shape of what was given."""
        return self._categorical.param_shape

    @property
    def logits(self) -> Tensor:
        """The log probabilities of the classes."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self._categorical.probs

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """The logits and Gumbel numbers, over the temperature, normalised."""
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
    """Points of the simplex, the nearer to a corner the lower the temperature."""

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

    @property
    def temperature(self) -> Tensor:
        """The temperature."""
        return self.base_dist.temperature  # type: ignore[no-any-return]

    @property
    def logits(self) -> Tensor:
        """The log probabilities of the classes."""
        return self.base_dist.logits  # type: ignore[no-any-return]

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self.base_dist.probs  # type: ignore[no-any-return]
