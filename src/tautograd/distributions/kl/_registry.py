"""Looks up the formula for two distributions: the one registered for their nearest classes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tautograd import Tensor

from ..distribution import Distribution

Formula = Callable[[Any, Any], Any]

_KL_REGISTRY: dict[tuple[type, type], Formula] = {}
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}  # lookups so far


def register_kl(type_p: Any, type_q: Any) -> Callable[[Formula], Formula]:
    """Decorator for a function of p and q that is their divergence, for all of these classes."""
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def declare(formula: Formula) -> Formula:
        _KL_REGISTRY[type_p, type_q] = formula
        _KL_MEMOIZE.clear()  # the nearest class may have changed
        return formula

    return declare


def _nearest(matches: list[tuple[type, ...]]) -> tuple[type, ...]:
    """The pair whose first class is the most derived, and of those the one whose second is."""

    def closer(one: tuple[type, ...], other: tuple[type, ...]) -> bool:
        for a, b in zip(one, other, strict=True):
            if a is not b:
                return issubclass(a, b)
        return True

    best = matches[0]
    for match in matches[1:]:
        if closer(match, best):
            best = match
    return best


def _dispatch_kl(type_p: type, type_q: type) -> Any:
    """The formula for two classes, or NotImplemented."""
    matches: list[tuple[type, ...]] = [
        (p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)
    ]
    if not matches:
        return NotImplemented
    # The result must not depend on which of the two classes is compared first.
    left_p, left_q = _nearest(matches)
    right_q, right_p = _nearest([(q, p) for p, q in matches])
    found, other = _KL_REGISTRY[left_p, left_q], _KL_REGISTRY[right_p, right_q]
    if found is not other:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({left_p.__name__}, {right_q.__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return found


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence KL(p ‖ q) of each pair of the batches."""
    kinds = type(p), type(q)
    if kinds not in _KL_MEMOIZE:
        _KL_MEMOIZE[kinds] = _dispatch_kl(*kinds)
    formula = _KL_MEMOIZE[kinds]
    if formula is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type "
            f"{type(q).__name__}"
        )
    return formula(p, q)  # type: ignore[no-any-return]
