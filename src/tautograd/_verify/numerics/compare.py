"""Compares a derivative with a numerical one: which entries agree, which cannot, which are kinks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .differences import Derivatives

SINGLE = 2.0**-24  # half a unit in the last place of float32


@dataclass
class Comparison:
    """Entry by entry, in the shape of the derivatives (directions by outputs)."""

    gap: Any
    tolerance: Any
    wrong: Any
    kink: Any  # and the derivative under test lies between the sides
    unseen: Any  # the function is non-finite around the point


def farthest_first(gaps: Any) -> Any:
    """The order of gaps from largest to smallest; NaN counts as the largest."""
    return np.argsort(-np.where(np.isnan(gaps), np.inf, gaps), kind="stable")


def compare(found: Derivatives, claimed: Any, spread: Any, size: Any) -> Comparison:
    """`spread` is how far rounding may have moved the claimed derivatives, `size` how large their factors
    are: a gap below half a float32 unit of that is not an error but a float32 constant somewhere
    inside (PyTorch's own hardsigmoid has one)."""
    with np.errstate(all="ignore"):
        tolerance = found.error + spread
        gap = np.abs(found.value - claimed)
        low, high = np.minimum(found.left, found.right), np.maximum(found.left, found.right)
        between = found.kink & (claimed >= low - tolerance) & (claimed <= high + tolerance)
        outside = ~(gap <= np.maximum(tolerance, SINGLE * size)) & ~between
    unseen = ~found.finite
    return Comparison(gap, tolerance, outside & found.finite, between, unseen)
