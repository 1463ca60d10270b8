"""Distributions over the classes of a `Categorical`, which holds their parameters."""

from __future__ import annotations

from typing import Any

from tautograd import Size, Tensor

from .. import constraints
from .._members import delegated
from ..distribution import Distribution
from .categorical import Categorical


class OverCategorical(Distribution):
    """An event has a number for each class."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    probs: Tensor = delegated("_categorical.probs", "The probabilities of the classes.")
    logits: Tensor = delegated("_categorical.logits", "The log probabilities of the classes.")
    param_shape: Size = delegated("_categorical.param_shape", "The shape of what was given.")
    _param: Tensor = delegated("_categorical._param", "What was given.")

    def _choose_from(self, probs: Any, logits: Any) -> None:
        """Create the distribution of classes from one of its two parameters."""
        self._categorical = Categorical(probs, logits)

    def _begin(self, validate_args: bool | None) -> None:
        """Initialise with the classes' batch shape, and one number for each class in an event."""
        classes = self._categorical
        Distribution.__init__(
            self, classes.batch_shape, classes.param_shape[-1:], validate_args=validate_args
        )

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)
