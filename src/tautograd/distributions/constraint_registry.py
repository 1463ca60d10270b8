"""Maps a constraint to a transform whose results satisfy it.

`biject_to(constraint)` gives a bijection from the reals, for Hamiltonian Monte Carlo and changes of
variables; `transform_to(constraint)` one that need not be bijective, for unconstrained optimisation. Both
can be extended: `transform_to.register(MyConstraint, factory)`, or as a decorator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints, transforms
from .utils import Number

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], transforms.Transform]


class ConstraintRegistry:
    """Transforms by the class of their target constraint."""

    def __init__(self) -> None:
        self._registry: dict[type, Factory] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Register `factory(constraint)`, which makes the transform for constraints of this class."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got "
                f"{constraint}"
            )
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> transforms.Transform:
        """The transform to the region of a constraint."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _to_upper_side(constraint: Any) -> transforms.Transform:
    shift = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), shift])


def _to_lower_side(constraint: Any) -> transforms.Transform:
    mirror = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), mirror])


def _to_interval(constraint: Any) -> transforms.Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    squash = transforms.SigmoidTransform()
    numbers = isinstance(low, Number) and isinstance(high, Number)
    if numbers and low == 0 and high == 1:
        return squash
    return transforms.ComposeTransform([squash, transforms.AffineTransform(low, high - low)])


def _both(*kinds: Any) -> Callable[[Factory], Factory]:
    """Register in both registries, for all these constraints."""

    def declare(factory: Factory) -> Factory:
        for registry in (biject_to, transform_to):
            for kind in kinds:
                registry.register(kind, factory)
        return factory

    return declare


_both(constraints.real)(lambda constraint: transforms.identity_transform)
# The class of `positive` is that of `greater_than`, which is registered later for both.
_both(constraints.greater_than, constraints.greater_than_eq)(_to_upper_side)
_both(constraints.less_than)(_to_lower_side)
_both(constraints.interval, constraints.half_open_interval)(_to_interval)
_both(constraints.corr_cholesky)(lambda constraint: transforms.CorrCholeskyTransform())
biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
transform_to.register(
    constraints.lower_cholesky, lambda constraint: transforms.LowerCholeskyTransform()
)
for _kind in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_kind, lambda constraint: transforms.PositiveDefiniteTransform())


def _of_parts(registry: ConstraintRegistry) -> None:
    """Composed constraints: their parts' transforms, composed in the same way."""

    def independent(constraint: Any) -> transforms.Transform:
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    def cat(constraint: Any) -> transforms.Transform:
        parts = [registry(c) for c in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    def stack(constraint: Any) -> transforms.Transform:
        return transforms.StackTransform([registry(c) for c in constraint.cseq], constraint.dim)

    registry.register(constraints.independent, independent)
    registry.register(constraints.cat, cat)
    registry.register(constraints.stack, stack)


_of_parts(biject_to)
_of_parts(transform_to)
