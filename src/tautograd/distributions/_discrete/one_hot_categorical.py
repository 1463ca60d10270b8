"""Classes as vectors with a single 1."""

from __future__ import annotations

from collections.abc import Sequence

import tautograd as torch
from tautograd import Size, Tensor
from tautograd.nn.functional import one_hot

from .. import constraints
from ._over_categorical import OverCategorical

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(OverCategorical):
    """`Categorical`, with one-hot vectors instead of indices."""

    support = constraints.one_hot
    has_enumerate_support = True
    _expanded = ()
    _parts = ("_categorical",)

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._choose_from(probs, logits)
        self._begin(validate_args)

    @property
    def mean(self) -> Tensor:
        """`probs`."""
        return self._categorical.probs

    @property
    def mode(self) -> Tensor:
        """The most likely class."""
        probs = self._categorical.probs
        return one_hot(probs.argmax(dim=-1), num_classes=probs.shape[-1]).to(probs)

    @property
    def variance(self) -> Tensor:
        """p (1 - p)."""
        return self._categorical.probs * (1 - self._categorical.probs)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draws."""
        indices = self._categorical.sample(Size(sample_shape))
        return one_hot(indices, self._categorical._num_events).to(self._categorical.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        """The log probability."""
        self._check(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        """The entropy of the classes."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """The rows of the identity matrix."""
        n, batch = self.event_shape[0], self.batch_shape
        values = torch.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n, *(1,) * len(batch), n))
        return values.expand((n, *batch, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """Draws with a straight-through gradient, as if they were the probabilities (Bengio et al., 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """The draws, with the gradient of `probs`."""
        drawn = self.sample(sample_shape)
        probs = self._categorical.probs
        return drawn + (probs - probs.detach())
