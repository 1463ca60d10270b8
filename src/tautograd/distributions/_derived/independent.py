"""Reinterprets some of a distribution's batch dimensions as parts of one event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from tautograd import Size, Tensor

from .. import constraints
from .._members import delegated
from ..distribution import Distribution
from ..utils import _sum_rightmost

__all__ = ["Independent"]

D = TypeVar("D", bound=Distribution)


class Independent(Distribution, Generic[D]):
    """The base distribution, with its last `reinterpreted_batch_ndims` batch dimensions moved into the
    event.

    `Independent(Normal(loc, scale), 1)` has the shapes of a multivariate normal distribution with
    a diagonal covariance.
    """

    arg_constraints: Any = {}
    base_dist: D

    def __init__(
        self,
        base_distribution: D,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(batch)}"
            )
        kept = len(batch) - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        event_shape = batch[kept:] + base_distribution.event_shape
        super().__init__(batch[:kept], event_shape, validate_args=validate_args)

    _expanded = ()
    _parts = ("base_dist",)
    _kept = ("reinterpreted_batch_ndims",)

    has_rsample: bool = delegated("base_dist.has_rsample", "As the base.")

    @property
    def has_enumerate_support(self) -> bool:
        """As the base, unless dimensions are reinterpreted."""
        if self.reinterpreted_batch_ndims > 0:
            return False
        return self.base_dist.has_enumerate_support  # type: ignore[no-any-return]

    @constraints.dependent_property
    def support(self) -> Any:
        """The base's, for larger events."""
        result = self.base_dist.support
        if self.reinterpreted_batch_ndims:
            result = constraints.independent(result, self.reinterpreted_batch_ndims)
        return result

    mean: Tensor = delegated("base_dist.mean", "The base's.")
    mode: Tensor = delegated("base_dist.mode", "The base's.")
    variance: Tensor = delegated("base_dist.variance", "The base's.")

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """The base's draws."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """The base's draws, with gradients."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """The base's, summed over an event."""
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        """The base's, summed over an event."""
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """The base's, if no dimensions are reinterpreted."""
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
