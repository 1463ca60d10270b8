"""The logistic-normal distribution: normal numbers mapped onto the simplex."""

from __future__ import annotations

from tautograd import Tensor

from .. import constraints
from .._continuous.normal import Normal
from .._members import delegated
from ..transforms import StickBreakingTransform
from .transformed_distribution import TransformedDistribution

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """n normal numbers mapped to n + 1 parts of a simplex by stick breaking."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    _expanded = ()

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    loc: Tensor = delegated("base_dist.base_dist.loc", "The means of the normal numbers.")
    scale: Tensor = delegated("base_dist.base_dist.scale", "Their standard deviations.")
