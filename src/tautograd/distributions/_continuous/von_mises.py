"""The von Mises distribution: the normal distribution of angles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tautograd as torch
from tautograd import Size, Tensor

from .. import constraints
from .._members import Symmetric
from ..distribution import Distribution
from ..utils import lazy_property

__all__ = ["VonMises"]

# Abramowitz and Stegun 9.8.1 to 9.8.4: the modified Bessel functions of order 0 and 1, as polynomials
# in (x / 3.75)² up to 3.75 and in 3.75 / x beyond, with exp(x) / √x factored out; constants first.
_UP_TO = 3.75
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3),
)
_LARGE = (
    (
        *(0.39894228, 0.1328592e-1, 0.225319e-2, -0.157565e-2, 0.916281e-2),
        *(-0.2057706e-1, 0.2635537e-1, -0.1647633e-1, 0.392377e-2),
    ),
    (
        *(0.39894228, -0.3988024e-1, -0.362018e-2, 0.163801e-2, -0.1031555e-1),
        *(0.2282967e-1, -0.2895312e-1, 0.1787654e-1, -0.420059e-2),
    ),
)


def _polynomial(y: Tensor, terms: tuple[float, ...]) -> Tensor:
    result: Any = terms[-1]
    for term in terms[-2::-1]:
        result = term + y * result
    return result  # type: ignore[no-any-return]


def _log_modified_bessel_fn(x: Tensor, order: int = 0) -> Tensor:
    """log I₀(x) or log I₁(x), for positive x."""
    if order not in (0, 1):
        raise AssertionError(f"order must be 0 or 1, got {order}")
    y = x / _UP_TO
    small = _polynomial(y * y, _SMALL[order])
    if order == 1:
        small = x.abs() * small
    large = x - 0.5 * x.log() + _polynomial(_UP_TO / x, _LARGE[order]).log()
    return torch.where(x < _UP_TO, small.log(), large)


# A try succeeds with a probability of 0.65 or more, so after these tries only hopeless ones remain.
_TRIES = 200


def _rejection_sample(loc: Tensor, concentration: Tensor, proposal_r: Tensor, x: Tensor) -> Tensor:
    """Best and Fisher's method (1979): rejection from a wrapped Cauchy distribution, three numbers per
    try.

    No try succeeds if the concentration is 0 or NaN, which gives NaN, nor if it is so large that
    proposals around 1 are indistinguishable; there the distribution is the normal one of that
    precision.
    """
    done = torch.zeros(x.shape, dtype=torch.bool, device=loc.device)
    for _ in range(_TRIES):
        if done.all():
            break
        u1, u2, u3 = torch.rand((3, *x.shape), dtype=loc.dtype, device=loc.device).unbind()
        z = torch.cos(math.pi * u1)
        f = (1 + proposal_r * z) / (proposal_r + z)
        c = concentration * (proposal_r - f)
        accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
        if accept.any():
            x = torch.where(accept, (u3 - 0.5).sign() * f.acos(), x)
            done = done | accept
    else:
        x = torch.where(done, x, torch.randn(x.shape, dtype=loc.dtype) * concentration.rsqrt())
    return (x + math.pi + loc) % (2 * math.pi) - math.pi


class VonMises(Symmetric, Distribution):
    """Angles around `loc`, more concentrated for larger `concentration`; computed in double precision."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    loc: Tensor
    concentration: Tensor

    def __init__(
        self, loc: Tensor, concentration: Tensor, validate_args: bool | None = None
    ) -> None:
        self._take(validate_args, loc=loc, concentration=concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density."""
        self._check(value)
        height = self.concentration * torch.cos(value - self.loc)
        return height - math.log(2 * math.pi) - _log_modified_bessel_fn(self.concentration)

    @lazy_property
    def _loc(self) -> Tensor:
        return self.loc.to(torch.double)

    @lazy_property
    def _concentration(self) -> Tensor:
        return self.concentration.to(torch.double)

    @lazy_property
    def _proposal_r(self) -> Tensor:
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        # For small kappa the difference in rho cancels: use its expansion 1/κ + κ.
        return torch.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draws without gradients."""
        with torch.no_grad():
            shape = self._extended_shape(sample_shape)
            x = torch.empty(shape, dtype=self._loc.dtype, device=self.loc.device)
            drawn = _rejection_sample(self._loc, self._concentration, self._proposal_r, x)
            return drawn.to(self.loc.dtype)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """Rebuilt from expanded parameters."""
        validate_args = self.__dict__.get("_validate_args")
        loc, concentration = (p.expand(batch_shape) for p in (self.loc, self.concentration))
        return type(self)(loc, concentration, validate_args=validate_args)

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance, 1 - I₁ / I₀."""
        ratio = _log_modified_bessel_fn(self.concentration, order=1)
        return 1 - (ratio - _log_modified_bessel_fn(self.concentration, order=0)).exp()
