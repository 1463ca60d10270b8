"""A derivative under test beside a numerical one: which entries agree, which cannot, which are kinks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .differences import Derivatives


@dataclass
class Comparison:
    """Entry by entry, in the shape of the derivatives (directions by outputs)."""

    gap: Any
    tolerance: Any
    wrong: Any
    kink: Any  # and the derivative under test lies between the sides
    unseen: Any  # the function is not finite around the point

    @property
    def worst(self) -> float:
        """The largest gap in units of its tolerance, kinks aside."""
        seen = ~self.kink & ~self.unseen
        with np.errstate(all="ignore"):
            ratio = np.where(self.gap > 0, self.gap / self.tolerance, 0.0)[seen]
        return float(np.nan_to_num(ratio, nan=np.inf).max(initial=0.0))


def compare(found: Derivatives, claimed: Any, spread: Any) -> Comparison:
    """`spread` is how far rounding may have moved the claimed derivatives."""
    with np.errstate(all="ignore"):
        tolerance = found.error + spread
        gap = np.abs(found.value - claimed)
        low, high = np.minimum(found.left, found.right), np.maximum(found.left, found.right)
        between = found.kink & (claimed >= low - tolerance) & (claimed <= high + tolerance)
        outside = ~(gap <= tolerance) & ~between
    unseen = ~found.finite
    return Comparison(gap, tolerance, outside & found.finite, between, unseen)
