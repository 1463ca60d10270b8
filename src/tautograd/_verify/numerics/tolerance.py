"""Whether a derivative under test is within what its reference allows, and the record if it is not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .differences import Derivatives

SURE = 4.0  # times its own error estimate, a reference may be off
LEAST = 2.0**-22  # of a gradient's size: a smaller gap may be a constant rounded to float32


@dataclass
class WrongEntry:
    """A number of the input row, with the derivative of the weighted outputs by it."""

    number: int
    expected: float
    got: float
    error: float
    weighting: int  # 0: the plain sum of the outputs; else with random signs


@dataclass
class KinkEntry:
    number: int
    left: float
    right: float
    taken: float


@dataclass
class Verdict:
    """The findings about one rule."""

    wrong: list[WrongEntry] = field(default_factory=list)
    kinks: list[KinkEntry] = field(default_factory=list)
    conclusive: bool = True


@dataclass
class Judged:
    """One entry, for each weighting."""

    whole: Derivatives
    low: Any
    high: Any
    error: Any
    gap: Any
    wrong: Any


def least_change(moves: Any) -> Any:
    """The smallest nonzero change, over the first axis; 0 if there is none."""
    least = np.where((moves > 0) & np.isfinite(moves), moves, np.inf).min(axis=0, initial=np.inf)
    return np.where(np.isfinite(least), least, 0.0)


def agrees(found: Derivatives, claimed: Any, slack: Any) -> Any:
    """Whether the claim lies within the error of a derivative, or between its two sides."""
    with np.errstate(all="ignore"):
        allowed = SURE * found.error + slack + 0.1 * LEAST * np.abs(claimed)
        fine = np.abs(found.value - claimed) <= allowed
        low, high = np.minimum(found.left, found.right), np.maximum(found.left, found.right)
        between = (claimed >= low - allowed) & (claimed <= high + allowed)
    return np.where(found.kink, fine | between, fine) & np.isfinite(found.error)


def interval(found: Derivatives, weights: Any) -> tuple[Any, Any, Any]:
    """The bounds of a weighted sum of the outputs' derivatives."""
    kink = found.kink
    low = np.where(kink, np.minimum(found.left, found.right), found.value)
    high = np.where(kink, np.maximum(found.left, found.right), found.value)
    used = weights.any(axis=0)
    low, high = np.where(used, low, 0.0), np.where(used, high, 0.0)
    error = np.where(used, found.error, 0.0)
    up, down = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
    with np.errstate(all="ignore"):
        return low @ up.T + high @ down.T, high @ up.T + low @ down.T, error @ np.abs(weights).T
