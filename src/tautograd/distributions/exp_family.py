"""Exponential families: p(x; θ) = exp(⟨t(x), θ⟩ - A(θ) + k(x)), with the log normaliser A.

The gradient of A is the mean of t(x), so entropies and divergences follow from A by
differentiation (Nielsen and Nock, 2010).
"""

from __future__ import annotations

from typing import Any

import tautograd as torch
from tautograd import Tensor

from .distribution import Distribution, _undefined

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution that defines its natural parameters and the log normaliser as a function of them."""

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    _mean_carrier_measure: Any = property(_undefined, doc="The mean of k(x).")

    def entropy(self) -> Tensor:
        """A(θ) - ⟨θ, ∇A(θ)⟩ - E k(x)."""
        carrier = -self._mean_carrier_measure
        natural = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*natural)
        slopes = torch.autograd.grad(normalizer.sum(), natural, create_graph=True)
        result = carrier + normalizer
        for parameter, slope in zip(natural, slopes, strict=True):
            result = result - (parameter * slope).reshape((*self._batch_shape, -1)).sum(-1)
        return result  # type: ignore[no-any-return]
