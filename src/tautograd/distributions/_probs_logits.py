"""Distributions parametrised by probabilities or by logits: one is given, the other follows."""

from __future__ import annotations

from typing import Any

from tautograd import Size, Tensor

from .distribution import Distribution
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


def given_one(probs: Any, logits: Any) -> str:
    """Which of the two was given; it is an error to give both or none."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return "logits" if probs is None else "probs"


class ProbsOrLogits(Distribution):
    """One of `probs` and `logits` is set at construction, the other computed lazily."""

    _is_binary = True  # a single outcome's log-odds; else classes along the last dimension
    _given: str
    _kept: tuple[str, ...] = ("_given",)

    @lazy_property
    def logits(self) -> Tensor:
        """The log-odds, or log-probabilities."""
        return probs_to_logits(self.probs, is_binary=self._is_binary)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=self._is_binary)

    @property
    def _param(self) -> Tensor:
        return self.__dict__[self._given]  # type: ignore[no-any-return]

    @property
    def param_shape(self) -> Size:
        """The shape of the given parameter."""
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)

    def _set_either(self, probs: Any, logits: Any, *total_count: Any) -> None:
        """Set the given parameter, and a number of trials, if there is one, in the same shape and dtype."""
        self._given = given_one(probs, logits)
        value = probs if logits is None else logits
        *counts, value = broadcast_all(*total_count, value)
        self.__dict__[self._given] = value
        for count in counts:
            self.__dict__["total_count"] = count.type_as(value)
