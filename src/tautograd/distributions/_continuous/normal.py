"""The normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tautograd as torch
from tautograd import Size, Tensor

from .._members import Symmetric
from ..exp_family import ExponentialFamily
from ..utils import _standard_normal
from ._loc_scale import LocScale

__all__ = ["Normal"]


class Normal(Symmetric, LocScale, ExponentialFamily):
    """Numbers around `loc` with the standard deviation `scale`."""

    _mean_carrier_measure = 0
    _expanded = ("loc", "scale")

    @property
    def stddev(self) -> Tensor:
        """`scale`."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """The square of `scale`."""
        return self.stddev.pow(2)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draws without gradients."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """`loc` plus a multiple of `scale`."""
        shape = self._extended_shape(sample_shape)
        eps = _standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + eps * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density."""
        self._check(value)
        var = self.scale**2
        log_root = math.log(math.sqrt(2 * math.pi))
        return -((value - self.loc) ** 2) / (2 * var) - self.scale.log() - log_root

    def cdf(self, value: Tensor) -> Tensor:
        """Computed by the error function."""
        self._check(value)
        z = (value - self.loc) * self.scale.reciprocal() / math.sqrt(2)
        return 0.5 * (1 + torch.erf(z))

    def icdf(self, value: Tensor) -> Tensor:
        """Computed by the inverse error function."""
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        """log(scale √(2πe))."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + torch.log(self.scale)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return -0.25 * x.pow(2) / y + 0.5 * torch.log(-math.pi / y)
