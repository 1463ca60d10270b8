"""Mixtures of distributions of one family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tautograd as torch
from tautograd import Size, Tensor

from .. import constraints
from .._discrete.categorical import Categorical
from ..distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A draw from a component that is chosen by a `Categorical`.

    The components are the last batch dimension of one distribution.
    """

    arg_constraints: Any = {}
    has_rsample = False
    _expanded = ()
    _parts = ("_component_distribution",)
    _kept = ("_num_component", "_event_ndims")

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of "
                "torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of "
                "torch.distributions.Distribution"
            )
        batch, components = mixture_distribution.batch_shape, component_distribution.batch_shape
        pairs = zip(reversed(batch), reversed(components[:-1]), strict=False)
        if any(1 not in pair and pair[0] != pair[1] for pair in pairs):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({batch}) is not compatible with "
                f"`component_distribution.batch_shape`({components[:-1]})"
            )
        weights = mixture_distribution.logits.shape[-1]
        if weights != components[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({weights}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components[-1]})"
            )
        self._num_component = weights
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(components[:-1], event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """The same mixture for a batch of this shape."""
        new = super().expand(batch_shape, _instance)
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        """What all components allow."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution that chooses the component."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components, along the last batch dimension."""
        return self._component_distribution

    def _weighted(self, values: Tensor) -> Tensor:
        """The weighted mean over components."""
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        return torch.sum(probs * values, dim=-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        """The weighted mean of the components' means."""
        return self._weighted(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        """The mean of the variances plus the variance of the means."""
        within = self._weighted(self.component_distribution.variance)
        apart = self.component_distribution.mean - self._pad(self.mean)
        return within + self._weighted(apart.pow(2.0))

    def cdf(self, x: Tensor) -> Tensor:
        """The weighted mean of the components'."""
        cdf = self.component_distribution.cdf(self._pad(x))
        return torch.sum(cdf * self.mixture_distribution.probs, dim=-1)

    def log_prob(self, x: Tensor) -> Tensor:
        """The log of the components' weighted densities."""
        self._check(x)
        of_components = self.component_distribution.log_prob(self._pad(x))
        weights = torch.log_softmax(self.mixture_distribution.logits, dim=-1)
        return torch.logsumexp(of_components + weights, dim=-1)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draw from all components, and choose one for each sample."""
        with torch.no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            event = self.event_shape
            index = chosen.reshape(chosen.shape + Size([1] * (len(event) + 1)))
            index = index.repeat(Size([1] * (chosen.dim() + 1)) + event)
            return torch.gather(drawn, dim, index).squeeze(dim)

    def _pad(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x: Tensor) -> Tensor:
        own = len(self.mixture_distribution.batch_shape)
        missing = 0 if own == 1 else len(self.batch_shape) - own
        shape = x.shape
        return x.reshape((*shape[:-1], *[1] * missing, shape[-1], *[1] * self._event_ndims))

    def __repr__(self) -> str:
        inner = f"\n  {self.mixture_distribution},\n  {self.component_distribution}"
        return f"MixtureSameFamily({inner})"
