"""Distributions on the real line, shifted by `loc` and scaled by `scale`."""

from __future__ import annotations

from tautograd import Tensor

from .. import constraints
from ..distribution import Distribution


class LocScale(Distribution):
    """Takes both parameters; each subclass defines its density."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    loc: Tensor
    scale: Tensor

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self._take(validate_args, loc=loc, scale=scale)
