"""The half of a Cauchy distribution above zero."""

from __future__ import annotations

import math
from typing import Any

import tautograd as torch
from tautograd import Tensor

from .._continuous.cauchy import Cauchy
from .._members import delegated
from ._half import Half

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """|x| of x drawn from Cauchy(0, scale)."""

    _whole = Cauchy
    _expanded = ()

    variance: Any = delegated("base_dist.variance", "Infinite.")

    @property
    def mean(self) -> Tensor:
        """Infinite."""
        return torch.full_like(self.scale.expand(self._extended_shape()), math.inf)

    def log_prob(self, value: Any) -> Tensor:
        """Twice the density, above zero; without validation, `value` may be a number."""
        self._check(value)
        kind: dict[str, Any] = {"dtype": self.scale.dtype, "device": self.scale.device}
        return super().log_prob(torch.as_tensor(value, **kind))
