"""The half of a Normal distribution above zero."""

from __future__ import annotations

import math

from tautograd import Tensor

from .._continuous.normal import Normal
from ._half import Half

__all__ = ["HalfNormal"]


class HalfNormal(Half):
    """|x| of x drawn from Normal(0, scale)."""

    _whole = Normal
    _expanded = ()

    @property
    def mean(self) -> Tensor:
        """scale √(2/π)."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        """scale² (1 - 2/π)."""
        return self.scale.pow(2) * (1 - 2 / math.pi)
