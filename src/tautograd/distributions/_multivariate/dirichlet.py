"""The Dirichlet distribution: random points of the simplex."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tautograd as torch
from tautograd import Tensor
from tautograd.autograd import Function
from tautograd.autograd.function import once_differentiable
from tautograd.nn.functional import one_hot

from .. import constraints
from ..exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


def _Dirichlet_backward(x: Tensor, concentration: Tensor, grad_output: Tensor) -> Tensor:
    total = concentration.sum(-1, True).expand_as(concentration)
    own = torch._dirichlet_grad(x, concentration, total)
    # If one share grows, all others shrink in proportion.
    return own * (grad_output - (x * grad_output).sum(-1, True))


class _Dirichlet(Function):
    """Draws, with the implicit gradient of `_dirichlet_grad`."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        x = torch._sample_dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        x, concentration = ctx.saved_tensors
        return _Dirichlet_backward(x, concentration, grad_output)


class Dirichlet(ExponentialFamily):
    """Components along the last dimension that sum to 1: gamma numbers divided by their sum."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _expanded = ("concentration",)

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw samples through which gradients reach the concentrations."""
        concentration = self.concentration.expand(self._extended_shape(sample_shape))
        return _Dirichlet.apply(concentration)  # type: ignore[no-any-return]

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density."""
        self._check(value)
        return (
            torch.xlogy(self.concentration - 1.0, value).sum(-1)
            + torch.lgamma(self.concentration.sum(-1))
            - torch.lgamma(self.concentration).sum(-1)
        )

    @property
    def mean(self) -> Tensor:
        """The normalised concentrations."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        """An interior point if the concentrations are above 1; a corner if all are below."""
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        cornered = (self.concentration < 1).all(dim=-1)
        mode[cornered] = one_hot(mode[cornered].argmax(dim=-1), above.shape[-1]).to(mode)
        return mode

    @property
    def variance(self) -> Tensor:
        """The variance of each component."""
        total = self.concentration.sum(-1, True)
        above = self.concentration * (total - self.concentration)
        return above / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        """The entropy."""
        a, k = self.concentration, self.concentration.size(-1)
        total = a.sum(-1)
        return (
            torch.lgamma(a).sum(-1)
            - torch.lgamma(total)
            - (k - total) * torch.digamma(total)
            - ((a - 1.0) * torch.digamma(a)).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Any:
        return x.lgamma().sum(-1) - torch.lgamma(x.sum(-1))
