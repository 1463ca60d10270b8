"""The regions that constraints describe: intervals, integers, simplices, kinds of matrices."""

from __future__ import annotations

from typing import Any

import tautograd as torch
from tautograd import Tensor

from ._constraint import Constraint

# --- the line ------------------------------------------------------------------------------------


class _Real(Constraint):
    """Every number, including infinities; not NaN, which is the only one unequal to itself."""

    def check(self, value: Tensor) -> Tensor:
        return value == value


class _Above(Constraint):
    _shown = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound
        super().__init__()


class _Below(Constraint):
    _shown = ("upper_bound",)

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound
        super().__init__()


class _Between(Constraint):
    _shown = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__()


class _GreaterThan(_Above):
    """Above a bound."""

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value  # type: ignore[no-any-return]


class _GreaterThanEq(_Above):
    """At or above a bound."""

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value  # type: ignore[no-any-return]


class _LessThan(_Below):
    """Below a bound."""

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound  # type: ignore[no-any-return]


class _Interval(_Between):
    """Between two bounds, inclusive."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)  # type: ignore[no-any-return]


class _HalfOpenInterval(_Between):
    """Between two bounds, including the lower one."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)  # type: ignore[no-any-return]


# --- discrete values -----------------------------------------------------------------------------


def _is_whole(value: Tensor) -> Tensor:
    return value % 1 == 0


def _is_zero_or_one(value: Tensor) -> Tensor:
    return (value == 0) | (value == 1)


class _Boolean(Constraint):
    """0 or 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return _is_zero_or_one(value)


class _OneHot(Constraint):
    """Vectors with a single 1, and 0 elsewhere."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return _is_zero_or_one(value).all(-1) & value.sum(-1).eq(1)


class _IntegerInterval(_Between):
    """Integers between two bounds, inclusive."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return _is_whole(value) & (self.lower_bound <= value) & (value <= self.upper_bound)  # type: ignore[no-any-return]


class _IntegerLessThan(_Below):
    """Integers up to a bound."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return _is_whole(value) & (value <= self.upper_bound)  # type: ignore[no-any-return]


class _IntegerGreaterThan(_Above):
    """Integers from a bound on."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return _is_whole(value) & (value >= self.lower_bound)  # type: ignore[no-any-return]


class _Multinomial(Constraint):
    """Counts whose sum is at most a bound."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Tensor) -> Tensor:
        return (x >= 0).all(dim=-1) & (x.sum(dim=-1) <= self.upper_bound)  # type: ignore[no-any-return]


# --- vectors and matrices ------------------------------------------------------------------------


class _Simplex(Constraint):
    """Vectors of nonnegative numbers that sum to 1 (to within 1e-6)."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return torch.all(value >= 0, dim=-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _LowerTriangular(Constraint):
    """Matrices that are zero above the diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).view((*value.shape[:-2], -1)).min(-1)[0]


class _LowerCholesky(_LowerTriangular):
    """Lower triangular matrices with a positive diagonal."""

    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).min(-1)[0]


class _CorrCholesky(_LowerCholesky):
    """Lower triangular matrices with a positive diagonal, and rows of length 1."""

    def check(self, value: Tensor) -> Tensor:
        tolerance = torch.finfo(value.dtype).eps * value.size(-1) * 10
        length = torch.linalg.norm(value.detach(), dim=-1)
        return super().check(value) & (length - 1.0).abs().le(tolerance).all(dim=-1)


class _Square(Constraint):
    """Matrices with as many rows as columns."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        is_square = value.shape[-2] == value.shape[-1]
        return torch.full(value.shape[:-2], is_square, dtype=torch.bool, device=value.device)


class _Symmetric(_Square):
    """Square matrices that equal their transposes (to within 1e-6)."""

    def check(self, value: Tensor) -> Tensor:
        is_square = super().check(value)
        if not is_square.all():
            return is_square
        return torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without a negative eigenvalue."""

    def check(self, value: Tensor) -> Tensor:
        is_symmetric = super().check(value)
        if not is_symmetric.all():
            return is_symmetric
        return torch.linalg.eigvalsh(value).ge(0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices that have a Cholesky factor."""

    def check(self, value: Tensor) -> Tensor:
        is_symmetric = super().check(value)
        if not is_symmetric.all():
            return is_symmetric
        return torch.linalg.cholesky_ex(value).info.eq(0)
