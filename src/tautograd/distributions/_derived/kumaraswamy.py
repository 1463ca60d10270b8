"""The Kumaraswamy distribution: similar to a beta distribution, with closed forms."""

from __future__ import annotations

import tautograd as torch
from tautograd import Tensor, nan

from .. import constraints
from .._continuous.uniform import Uniform
from ..transforms import AffineTransform, PowerTransform
from ..utils import broadcast_all, euler_constant
from .transformed_distribution import TransformedDistribution

__all__ = ["Kumaraswamy"]


def _moments(a: Tensor, b: Tensor, n: int) -> Tensor:
    """The n-th moment, b B(1 + n/a, b)."""
    first = 1 + n / a
    return b * torch.exp(torch.lgamma(first) + torch.lgamma(b) - torch.lgamma(first + b))


class Kumaraswamy(TransformedDistribution):
    """(1 - u^(1 / concentration0))^(1 / concentration1), for u uniform."""

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True
    _expanded = ("concentration1", "concentration0")

    def __init__(
        self,
        concentration1: Tensor | float,
        concentration0: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        low, high = (torch.full_like(self.concentration0, end) for end in (0, 1))
        base = Uniform(low, high, validate_args=validate_args)
        transforms = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The first moment."""
        return _moments(self.concentration1, self.concentration0, 1)

    @property
    def mode(self) -> Tensor:
        """NaN where a concentration is below 1."""
        a, b = self.concentration1, self.concentration0
        log_mode = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        log_mode[(b < 1) | (a < 1)] = nan
        return log_mode.exp()

    @property
    def variance(self) -> Tensor:
        """The second moment minus the square of the first."""
        second = _moments(self.concentration1, self.concentration0, 2)
        return second - torch.pow(self.mean, 2)

    def entropy(self) -> Tensor:
        """The entropy."""
        a, b = self.concentration1, self.concentration0
        harmonic = torch.digamma(b + 1) + euler_constant
        shares = (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic
        return shares - torch.log(a) - torch.log(b)
