"""The continuous Bernoulli distribution: λ^x (1 - λ)^(1 - x) on [0, 1], normalised.

Loaiza-Ganem and Cunningham, 2019. Its formulas are 0/0 at λ = 1/2; between the two
limits `lims` their Taylor series are used instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tautograd as torch
from tautograd import Size, Tensor
from tautograd.nn.functional import binary_cross_entropy_with_logits

from .. import constraints
from .._probs_logits import ProbsOrLogits
from ..exp_family import ExponentialFamily
from ..utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """Numbers in [0, 1]; `probs` is λ, which is not a probability here, and `logits` its log-odds."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _expanded = ("probs", "logits")
    _kept = ("_given", "_lims")

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._set_either(probs, logits)
        if probs is not None:
            # Validate before clamping, after which they would always be valid.
            if validate_args is not None and not constraints.unit_interval.check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.__dict__["probs"] = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.size(), validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        """λ."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _unstable_region(self) -> tuple[Any, Any]:
        try:
            return self._lims[0], self._lims[1]
        except (TypeError, IndexError, KeyError):
            raise TypeError(
                f"lims must be the two ends of the unstable region, got {type(self._lims).__name__}"
            ) from None

    def _outside_unstable_region(self) -> Tensor:
        low, high = self._unstable_region()
        return torch.max(torch.le(self.probs, low), torch.gt(self.probs, high))

    def _cut_probs(self) -> Tensor:
        """λ, moved out of the unstable region."""
        outside = self._outside_unstable_region()  # raises if the limits are invalid
        limit = self._unstable_region()[0] * torch.ones_like(self.probs)
        return torch.where(outside, self.probs, limit)

    def _choose(self, exact: Tensor, taylor: Tensor) -> Tensor:
        return torch.where(self._outside_unstable_region(), exact, taylor)

    def _cont_bern_log_norm(self) -> Tensor:
        """The log of the normalising constant, 2 artanh(1 - 2λ) / (1 - 2λ)."""
        cut = self._cut_probs()
        # Each branch in its own formula, with a harmless value where the other applies.
        low = torch.where(torch.le(cut, 0.5), cut, torch.zeros_like(cut))
        high = torch.where(torch.ge(cut, 0.5), cut, torch.ones_like(cut))
        below = torch.where(
            torch.le(cut, 0.5), torch.log1p(-2.0 * low), torch.log(2.0 * high - 1.0)
        )
        above = torch.log(torch.abs(torch.log1p(-cut) - torch.log(cut)))
        x = torch.pow(self.probs - 0.5, 2)
        taylor = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return self._choose(above - below, taylor)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        cut = self._cut_probs()
        exact = cut / (2.0 * cut - 1.0) + 1.0 / (torch.log1p(-cut) - torch.log(cut))
        x = self.probs - 0.5
        taylor = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * torch.pow(x, 2)) * x
        return self._choose(exact, taylor)

    @property
    def stddev(self) -> Tensor:
        """The root of the variance."""
        return torch.sqrt(self.variance)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        cut = self._cut_probs()
        exact = cut * (cut - 1.0) / torch.pow(1.0 - 2.0 * cut, 2) + 1.0 / torch.pow(
            torch.log1p(-cut) - torch.log(cut), 2
        )
        x = torch.pow(self.probs - 0.5, 2)
        taylor = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return self._choose(exact, taylor)

    def _uniform(self, sample_shape: Sequence[int]) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return torch.rand(shape, dtype=self.probs.dtype, device=self.probs.device)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draws without gradients."""
        with torch.no_grad():
            return self.icdf(self._uniform(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """The quantiles of uniform numbers."""
        return self.icdf(self._uniform(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density."""
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        unnormalized = -binary_cross_entropy_with_logits(logits, value, reduction="none")
        return unnormalized + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        self._check(value)
        cut = self._cut_probs()
        mass = torch.pow(cut, value) * torch.pow(1.0 - cut, 1.0 - value) + cut - 1.0
        inside = self._choose(mass / (2.0 * cut - 1.0), value)
        ended = torch.where(torch.ge(value, 1.0), torch.ones_like(value), inside)
        return torch.where(torch.le(value, 0.0), torch.zeros_like(value), ended)

    def icdf(self, value: Tensor) -> Tensor:
        """The quantile."""
        cut = self._cut_probs()
        log_rest = torch.log1p(-cut)
        above = torch.log1p(-cut + value * (2.0 * cut - 1.0)) - log_rest
        return self._choose(above / (torch.log(cut) - log_rest), value)

    def entropy(self) -> Tensor:
        """The entropy."""
        log_rest, log = torch.log1p(-self.probs), torch.log(self.probs)
        return self.mean * (log_rest - log) - self._cont_bern_log_norm() - log_rest

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:
        low, high = (end - 0.5 for end in self._unstable_region())
        stable = torch.max(torch.le(x, low), torch.gt(x, high))
        cut = torch.where(stable, x, low * torch.ones_like(x))
        exact = torch.log(torch.abs(torch.special.expm1(cut))) - torch.log(torch.abs(cut))
        taylor = 0.5 * x + torch.pow(x, 2) / 24.0 - torch.pow(x, 4) / 2880.0
        return torch.where(stable, exact, taylor)
