"""A distribution with transformed draws: log p(y) = log p(x) - log |dy/dx|."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tautograd as torch
from tautograd import Size, Tensor

from .. import constraints
from ..distribution import Distribution
from ..transforms import ComposeTransform, Transform
from ..utils import _sum_rightmost
from .independent import Independent

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of t(x), for x from the base and t one transform or a list of them.

    The event shape is the base's, enlarged as the transforms require.
    """

    arg_constraints: Any = {}
    _expanded: tuple[str, ...] = ()

    base_dist: Any
    transforms: list[Transform]

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms = _as_list(transforms)
        whole = ComposeTransform(self.transforms)
        taken, given = whole.domain.event_dim, whole.codomain.event_dim
        base: Any = base_distribution
        base_shape = base.batch_shape + base.event_shape
        base_event_dim = len(base.event_shape)
        if len(base_shape) < taken:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {taken}, but got "
                f"{base_shape}."
            )
        # The transforms' own parameters may have a larger batch than the base.
        shape = Size(whole.forward_shape(base_shape))
        needed = whole.inverse_shape(shape)
        if base_shape != needed:
            base = base.expand(needed[: len(needed) - base_event_dim])
        if taken > base_event_dim:
            base = Independent(base, taken - base_event_dim)
        self.base_dist = base
        event_dim = max(given, base_event_dim + given - taken)
        if len(shape) < event_dim:
            raise AssertionError(
                f"forward_shape length {len(shape)} must be >= event_dim {event_dim}"
            )
        cut = len(shape) - event_dim
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """The same distribution for a batch of this shape."""
        new = super().expand(batch_shape, _instance)
        shape = Size(batch_shape) + self.event_shape
        for t in reversed(self.transforms):
            shape = t.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        """The codomain of the last transform."""
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        extra = len(self.event_shape) - support.event_dim
        return constraints.independent(support, extra) if extra > 0 else support

    @property
    def has_rsample(self) -> bool:
        """As the base."""
        return self.base_dist.has_rsample  # type: ignore[no-any-return]

    def _transformed(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """The base's draws, transformed."""
        with torch.no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """The base's draws, transformed, with gradients."""
        return self._transformed(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The base's at the value's preimage, minus the logs of the Jacobians."""
        self._check(value)
        event_dim = len(self.event_shape)
        log_prob: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            term = transform.log_abs_det_jacobian(x, y)
            log_prob = log_prob - _sum_rightmost(term, event_dim - transform.domain.event_dim)
            y = x
        base = self.base_dist
        base_log_prob = _sum_rightmost(base.log_prob(y), event_dim - len(base.event_shape))
        return log_prob + base_log_prob  # type: ignore[no-any-return]

    def _monotonize_cdf(self, value: Tensor) -> Tensor:
        """The value, or 1 minus the value if the composed transforms are decreasing."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5  # type: ignore[no-any-return]

    def cdf(self, value: Tensor) -> Tensor:
        """The base's at the value's preimage."""
        for transform in self.transforms[::-1]:
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        """The base's quantile, transformed."""
        return self._transformed(self.base_dist.icdf(self._monotonize_cdf(value)))


def _as_list(transforms: Any) -> list[Transform]:
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list):
        raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
    if not all(isinstance(t, Transform) for t in transforms):
        raise ValueError("transforms must be a Transform or a list of Transforms")
    return transforms
