"""How noisy a function is: the size of the rounding errors in its values.

Along a line of tiny steps a smooth function is a polynomial of low degree, so its high differences
vanish, and what is left of them is noise. The k-th differences of noise of size s have a root mean
square of s·sqrt((2k)!)/k!, whatever k is; those of a smooth function fall quickly with k. The least
estimate over k is therefore the noise (Moré and Wild, "Estimating computational noise", 2011).
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial, sqrt
from typing import Any

import numpy as np

Function = Callable[[Any], Any]
"""(k, n) points to (k, m) values, both float64."""

EPSILON = float(np.finfo(np.float64).eps)
_POINTS = 8
_STEPS = (
    4500.0,
    4.5e9,
    4.5e12,
)  # in units of the precision: 1e-12, 1e-6 and 1e-3 of the inputs' size
_STARTS = 0.0, 17.0, -31.0  # in steps: a kink crossed by one line is missed by the others


def scale_of(x: Any, least: float = 1e-2) -> Any:
    """The scale of each number, for steps: its own size, or the usual one if it is (nearly) zero."""
    size = np.abs(x)
    nonzero = size[(size > 0) & np.isfinite(size)]
    if not nonzero.size:
        return np.ones_like(size)
    usual = float(np.median(nonzero))
    size = np.where(size > 0, np.maximum(size, least * usual), usual)
    return np.where(np.isfinite(size), size, 1.0)


def noise_level(
    function: Function, x: Any, seed: int = 0, epsilon: float = EPSILON, *, coarse: bool = True
) -> Any:
    """The size of the rounding errors in each output near `x`; `epsilon` is the inputs' precision.

    Steps of 1e-12 show the rounding of float64; those of 1e-6 that of float32, where the function
    uses it inside. Those of 1e-3 are for values so coarse that shorter steps do not change them.
    Without `coarse`, only the first are taken.
    """
    points = points_for_noise(x, seed, epsilon, coarse=coarse)
    return level_of(function(points), epsilon, coarse=coarse)


def points_for_noise(
    x: Any, seed: int = 0, epsilon: float = EPSILON, *, coarse: bool = True
) -> Any:
    """The points at which to evaluate the function for `level_of`."""
    random = np.random.default_rng(seed)
    shape = len(_STARTS), *x.shape
    lines = random.choice([-1.0, 1.0], shape) * random.uniform(0.5, 1.0, shape) * scale_of(x, 0.0)
    counts = np.arange(_POINTS, dtype=np.float64)
    distances = np.add.outer(_STARTS, counts)
    points = [
        x + (distances * step)[:, :, None] * lines[:, None] for step in _steps(epsilon, coarse)
    ]
    return np.concatenate(points).reshape(-1, x.size)


def level_of(values: Any, epsilon: float = EPSILON, *, coarse: bool = True) -> Any:
    """The noise of values at `points_for_noise`; any linear map of the values may be passed instead."""
    steps = len(_steps(epsilon, coarse))
    values = values.reshape(steps, len(_STARTS), _POINTS, -1)
    with np.errstate(all="ignore"):
        sizes = _of_lines(values)
        # The median of the three lines.
        found = np.sort(np.where(np.isfinite(sizes), sizes, np.inf), axis=1)[:, 1]
        if steps == len(_STEPS):
            same = (np.diff(values[1], axis=1) == 0).mean(axis=(0, 1))
            found[2] = np.where(same >= 0.5, found[2], 0.0)
        found = np.max(np.where(np.isfinite(found), found, 0.0), axis=0)
        finite = np.where(np.isfinite(values), np.abs(values), 0.0)
        least = 0.5 * epsilon * finite.max(axis=(0, 1, 2), initial=0.0)
    return np.maximum(found, least)


def _steps(epsilon: float, coarse: bool) -> list[float]:
    steps = _STEPS if coarse else _STEPS[:1]
    return [s * epsilon for s in steps if s * epsilon < 2e-3] or [1e-2]


def _of_lines(values: Any) -> Any:
    """From values at equal steps along the third axis."""
    sizes = []
    differences = values
    for order in range(1, _POINTS - 1):
        differences = differences[:, :, 1:] - differences[:, :, :-1]
        if order > 2:
            expected = sqrt(factorial(2 * order)) / factorial(order)
            sizes.append(np.sqrt(np.mean(differences**2, axis=2)) / expected)
    return 2.0 * np.min(sizes, axis=0)
