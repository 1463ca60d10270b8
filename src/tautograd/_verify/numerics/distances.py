"""How far a result is from a more accurate one: in units of the last place, and as a relative norm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_OWN = 8.0  # roundings a result may be off by on its own, and more with the length of its sums
_MOVED = 8.0  # times the effect of one rounding of the inputs


@dataclass(frozen=True)
class Distance:
    """The error of a tensor."""

    ulp: float  # the largest error of an element, in units of the last place
    relative: float  # norm of the error over the norm of the reference
    note: str = ""
    absolute: float = math.inf  # norm of the error


def distance(got: Any, expected: Any, epsilon: float) -> Distance:
    """The error of `got`, where `epsilon` is the spacing of numbers at 1.

    A unit in the last place is that of the element, or of the tensor's root mean square if the
    element is smaller: an element that cancels to nearly nothing has no digits left to compare.
    """
    if got is None:
        return Distance(math.inf, math.inf, "missing")
    if got.shape != expected.shape:
        return Distance(math.inf, math.inf, f"shape {got.shape}, not {expected.shape}")
    if not expected.size:
        return Distance(0.0, 0.0, absolute=0.0)
    if expected.dtype.kind not in "fc":
        count = int(np.count_nonzero(got != expected))
        note = f"{count} of {expected.size} elements differ" if count else ""
        return Distance(float(count), count / expected.size, note)
    with np.errstate(all="ignore"):
        same = (got == expected) | (np.isnan(got) & np.isnan(expected))
        finite = np.isfinite(got) & np.isfinite(expected)
        lost = int(np.count_nonzero(~same & ~finite))
        if lost:
            return Distance(math.inf, math.inf, f"{lost} elements not finite in one of the two")
        error = np.where(same, 0.0, np.abs(got - expected))
        size = np.where(finite, np.abs(expected), 0.0)
        norm, off = _norm(size), _norm(error)
        usual = norm / math.sqrt(expected.size)
        places = epsilon * 2.0 ** np.floor(np.log2(np.maximum(size, usual)))
        ulp = float(np.max(np.where(error > 0, error / places, 0.0)))
    relative = off / norm if norm else (math.inf if off else 0.0)
    return Distance(ulp, relative, absolute=off)


def allowance(moved: Sequence[Any], expected: Any, epsilon: float, length: int) -> float:
    """The relative error that rounding explains in a result.

    It consists of the result's own roundings, which grow with the root of the length of its sums, and the
    measured effect of rounding the inputs once: `moved` are results from inputs moved that way.
    """
    found = [distance(other, expected, epsilon).relative for other in moved]
    by_inputs = _MOVED * max((off for off in found if math.isfinite(off)), default=0.0)
    if expected.dtype.kind not in "fc":
        return by_inputs
    return by_inputs + epsilon * (_OWN + math.sqrt(length))


def rounding(epsilon: float, values: Any) -> float:
    """The relative error from rounding in sums as long as a tensor."""
    return epsilon * (_OWN + math.sqrt(values.size))


def size_of(values: Any) -> float:
    """The norm of a tensor's finite elements."""
    with np.errstate(all="ignore"):
        return _norm(np.where(np.isfinite(values), np.abs(values), 0.0))


def _norm(values: Any) -> float:
    largest = float(np.max(values, initial=0.0))
    return largest * float(np.linalg.norm((values / largest).reshape(-1))) if largest else 0.0
