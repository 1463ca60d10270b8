"""The categorical distribution: one of several classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tautograd as torch
from tautograd import Size, Tensor, nan

from .. import constraints
from .._probs_logits import ProbsOrLogits, given_one
from ._support import enumerated

__all__ = ["Categorical"]


class Categorical(ProbsOrLogits):
    """Indices of classes, whose weights lie along the last dimension of `probs` or `logits`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False
    _expanded = ("probs", "logits")
    _kept = ("_given", "_num_events")

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._given = given_one(probs, logits)
        value: Any = probs if logits is None else logits
        if value.dim() < 1:
            raise ValueError(f"`{self._given}` parameter must be at least one-dimensional.")
        if logits is None:
            self.__dict__["probs"] = value / value.sum(-1, keepdim=True)
        else:
            self.__dict__["logits"] = value - value.logsumexp(dim=-1, keepdim=True)
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The indices."""
        return constraints.integer_interval(0, self._num_events - 1)

    def _undefined_moment(self) -> Tensor:
        kind: dict[str, Any] = {"dtype": self.probs.dtype, "device": self.probs.device}
        return torch.full(self._extended_shape(), nan, **kind)

    @property
    def mean(self) -> Tensor:
        """NaN: classes are not numbers."""
        return self._undefined_moment()

    @property
    def mode(self) -> Tensor:
        """The most likely class."""
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        """NaN: classes are not numbers."""
        return self._undefined_moment()

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draws."""
        shape = sample_shape if isinstance(sample_shape, Size) else Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        drawn = torch.multinomial(rows, shape.numel(), True).T
        return drawn.reshape(self._extended_shape(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The log probability."""
        self._check(value)
        index, log_pmf = torch.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return log_pmf.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        """The entropy; a class of probability zero contributes nothing."""
        logits = torch.clamp(self.logits, min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All indices."""
        values = torch.arange(self._num_events, dtype=torch.long, device=self._param.device)
        return enumerated(values, self._batch_shape, expand)
