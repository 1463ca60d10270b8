"""The base class of constraints, and constraints that are composed of others or depend on an object.

The regions themselves are in `_regions`; `constraints` gives all of them their names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tautograd as torch
from tautograd import Tensor


class Constraint:
    """A region; `check` says for each event whether it lies inside.

    The last `event_dim` dimensions make up one event, which is checked as a whole.
    """

    is_discrete: Any = False
    event_dim: Any = 0
    _shown: tuple[str, ...] = ()  # the parameters, as `repr` names them

    def check(self, value: Tensor) -> Tensor:
        """True for each event that satisfies the constraint."""
        raise NotImplementedError

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={getattr(self, name)}" for name in self._shown)
        return f"{type(self).__name__[1:]}({parameters})"


# --- constraints that depend on other things -----------------------------------------------------


class _Dependent(Constraint):
    """Stands in for a constraint that depends on the object it belongs to."""

    def __init__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """Whether the values are discrete, if known beforehand."""
        return _known(self._is_discrete, "is_discrete")  # type: ignore[no-any-return]

    @property
    def event_dim(self) -> int:
        """How many dimensions an event has, if known beforehand."""
        return _known(self._event_dim, "event_dim")  # type: ignore[no-any-return]

    def __call__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> _Dependent:
        """The same with more information: `constraints.dependent(event_dim=1)`."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


def _known(value: Any, name: str) -> Any:
    if value is NotImplemented:
        raise NotImplementedError(f".{name} cannot be determined statically")
    return value


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on the object it belongs to."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property of objects that, on their class, is a constraint depending on the object."""

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        property.__init__(self, fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:  # type: ignore[override]
        """With what is known beforehand: `@dependent_property(event_dim=1)`."""
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


# --- composed constraints ------------------------------------------------------------------------


def _require(constraint: Any) -> None:
    if not isinstance(constraint, Constraint):
        raise AssertionError(
            f"base_constraint must be a Constraint, got {type(constraint).__name__}"
        )


class _IndependentConstraint(Constraint):
    """Events of more dimensions, which are valid if all their parts are."""

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: int) -> None:
        _require(base_constraint)
        count = reinterpreted_batch_ndims
        if not isinstance(count, int):
            raise AssertionError(
                f"reinterpreted_batch_ndims must be an int, got {type(count).__name__}"
            )
        if count < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {count}")
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = count
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """As the base."""
        return self.base_constraint.is_discrete  # type: ignore[no-any-return]

    @property
    def event_dim(self) -> int:
        """The base's, plus those reinterpreted here."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims  # type: ignore[no-any-return]

    def check(self, value: Tensor) -> Tensor:
        """True where all parts of an event satisfy the base."""
        result = self.base_constraint.check(value)
        kept = result.dim() - self.reinterpreted_batch_ndims
        if kept < 0:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return result.reshape((*result.shape[:kept], -1)).all(-1)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        name = type(self).__name__[1:]
        return f"{name}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """What every component of a mixture allows: the base has one additional batch dimension, the last."""

    def __init__(self, base_constraint: Any) -> None:
        _require(base_constraint)
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """As the base."""
        return self.base_constraint.is_discrete  # type: ignore[no-any-return]

    @property
    def event_dim(self) -> int:
        """As the base."""
        return self.base_constraint.event_dim  # type: ignore[no-any-return]

    def check(self, value: Tensor) -> Tensor:
        """True where all components allow the event."""
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        kept = value.dim() - self.event_dim
        if kept < 0:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return result.reshape((*result.shape[:kept], -1)).all(-1)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Parts(Constraint):
    """One constraint for each part of a tensor along a dimension."""

    cseq: list[Any]
    dim: int

    def __init__(self, cseq: Sequence[Any], dim: int = 0) -> None:
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq = list(cseq)
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """Whether any part is discrete."""
        return any(c.is_discrete for c in self.cseq)

    def _require_dim(self, value: Tensor) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(
                f"dim {self.dim} out of range for value with {value.dim()} dimensions"
            )


class _Cat(_Parts):
    """Parts joined by `torch.cat`, each with its own length."""

    def __init__(
        self, cseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})"
            )

    @property
    def event_dim(self) -> int:
        """The maximum over the parts."""
        return max(c.event_dim for c in self.cseq)  # type: ignore[no-any-return]

    def check(self, value: Tensor) -> Tensor:
        """The results of each part's constraint, concatenated."""
        self._require_dim(value)
        parts = value.narrow(self.dim, 0, sum(self.lengths)).split(self.lengths, self.dim)
        checks = [c.check(part) for c, part in zip(self.cseq, parts, strict=True)]
        return torch.cat(checks, self.dim)


class _Stack(_Parts):
    """Parts joined by `torch.stack`."""

    @property
    def event_dim(self) -> int:
        """The maximum over the parts, plus the dimension of the stack if it lies within an event."""
        most: int = max(c.event_dim for c in self.cseq)
        return most + 1 if self.dim + most < 0 else most

    def check(self, value: Tensor) -> Tensor:
        """The results of each part's constraint, stacked."""
        self._require_dim(value)
        parts = value.unbind(self.dim)
        return torch.stack([c.check(v) for v, c in zip(parts, self.cseq)], self.dim)  # noqa: B905
