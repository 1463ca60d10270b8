"""The geometric distribution: failures before the first success."""

from __future__ import annotations

from collections.abc import Sequence

import tautograd as torch
from tautograd import Size, Tensor
from tautograd.nn.functional import binary_cross_entropy_with_logits

from .. import constraints
from .._probs_logits import ProbsOrLogits
from ..utils import broadcast_all

__all__ = ["Geometric"]


class Geometric(ProbsOrLogits):
    """The number of failures before the first success, with probability `probs` per trial."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _expanded = ("probs", "logits")

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_either(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)
        if self._validate_args and probs is not None:
            self._require_positive(self.probs)

    def _require_positive(self, value: Tensor) -> None:
        valid = value > 0
        if not valid.all():
            raise ValueError(
                f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"of distribution {self!r} to be positive but found invalid values:\n"
                f"{value.data[~valid]}"
            )

    @property
    def mean(self) -> Tensor:
        """1/p - 1."""
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        """Zero."""
        return torch.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        """(1/p - 1) / p."""
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draws: log u over log(1 - p), rounded down."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            u = self.probs.new(shape).uniform_(torch.finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        """The log probability."""
        self._check(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.clone(memory_format=torch.contiguous_format)
        probs[(probs == 1) & (value == 0)] = 0  # no failure in no trials: 0 log 0 is 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        """The entropy of one trial, times the mean number of trials."""
        one = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return one / self.probs
