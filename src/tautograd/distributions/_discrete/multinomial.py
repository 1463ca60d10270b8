"""The multinomial distribution: counts of classes in a number of draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tautograd as torch
from tautograd import Size, Tensor, inf

from .. import constraints
from ..utils import broadcast_all
from ._over_categorical import OverCategorical
from .binomial import Binomial

__all__ = ["Multinomial"]


class Multinomial(OverCategorical):
    """The count of each class in `total_count` draws."""

    _expanded = ()
    _parts = ("_categorical", "_binomial")
    _kept = ("total_count",)

    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._choose_from(probs, logits)
        # The marginal count of each class.
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        self._begin(validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        """Counts that sum to at most the number of draws."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        """n p."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        """n p (1 - p)."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draw classes, and count them."""
        sample_shape = Size(sample_shape)
        drawn = self._categorical.sample(Size((self.total_count,)) + sample_shape).movedim(0, -1)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        counts.scatter_add_(-1, drawn, torch.ones_like(drawn))
        return counts.type_as(self.probs)

    def entropy(self) -> Tensor:
        """The entropy of the ordered draws minus that of their order."""
        n = torch.tensor(self.total_count)
        ordered = n * self._categorical.entropy() - torch.lgamma(n + 1)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        weights = torch.exp(self._binomial.log_prob(counts)) * torch.lgamma(counts + 1)
        return ordered + weights.sum([0, -1])

    def log_prob(self, value: Tensor) -> Tensor:
        """The log probability."""
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.clone(memory_format=torch.contiguous_format)
        ways = torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1)
        logits[(value == 0) & (logits == -inf)] = 0  # an impossible class that was not drawn
        return ways + (logits * value).sum(-1)
