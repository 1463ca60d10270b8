"""Derivatives without rules: central differences, extrapolated, with their own error estimate.

D(h) = (f(x + ht) - f(x - ht)) / 2h has an error in even powers of h, so combining D(h), D(h/2) and
D(h/4) removes the first two (Richardson). What the last combination changed estimates what is
left; rounding adds eps·|f|/h. The step that promises the least error wins, so a kink nearby, which
spoils the larger steps, does not spoil the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

STEPS = (2.0**-9, 2.0**-13, 2.0**-17, 2.0**-21)
GOOD = 1e-9  # relative to the result: good enough not to try a smaller step
EPS = float(np.finfo(np.float64).eps)


class Derivative(NamedTuple):
    """A directional derivative per output, and how far it may be off (one number)."""

    values: tuple[np.ndarray, ...]
    error: float


def directional(f: Callable[[float], tuple[Any, ...]]) -> Derivative:
    """The derivative at 0 of a function of the step along a direction."""
    best = None
    for h in STEPS:
        found = _richardson(f, h)
        if best is None or found.error < best.error or not np.isfinite(best.error):
            best = found
        if best.error <= GOOD * max([1.0, *map(_largest, best.values)]):
            break
    assert best is not None
    return best


def _richardson(f: Callable[[float], tuple[Any, ...]], h: float) -> Derivative:
    points = [(f(h / 2**k), f(-h / 2**k)) for k in range(3)]
    if _all_alike([side for pair in points for side in pair]):  # no rounding where nothing moves
        return Derivative(tuple(np.zeros_like(v) for v in points[0][0]), 0.0)
    size = max((_largest(v) for pair in points for side in pair for v in side), default=0.0)
    coarse, middle, fine = (_central(up, down, h / 2**k) for k, (up, down) in enumerate(points))
    values, error = [], 0.0
    for a, b, c in zip(coarse, middle, fine, strict=True):
        first, second = b + (b - a) / 3, c + (c - b) / 3
        best = second + (second - first) / 15
        values.append(best)
        error = max(error, _largest(best - second) + 64 * EPS * _largest(best))
    return Derivative(tuple(values), error + 64 * EPS * size / h)


def _all_alike(values: list[tuple[Any, ...]]) -> bool:
    first, *others = values
    return all(np.array_equal(a, b) for other in others for a, b in zip(first, other, strict=True))


def _central(up: tuple[Any, ...], down: tuple[Any, ...], h: float) -> list[np.ndarray]:
    return [(a - b) / (2 * h) for a, b in zip(up, down, strict=True)]


def _largest(x: Any) -> float:
    return float(np.max(np.abs(x), initial=0.0))
