"""The first look at every entry of a Jacobian: three values each, for what is right anyway.

At the distances h, -h and 2h, together with the point itself, a function has a third difference. Over
6h it is the truncation of the central difference, h²f'''/6; a kink of size k adds k/6 to it; a step too
long shows in it too. It is taken off the central difference, and what it took off, with the noise over
the step, is the error. An entry is settled if the derivative under test lies within that error, and
the error within what is asked. All others are looked at with six values and as many steps as they need.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .differences import (
    Derivatives,
    at_least_rounding,
    directional,
    parts_of,
    relative_noise,
)
from .lines import Axes
from .noise import EPSILON, Function

_DISTANCES = np.array([1.0, -1.0, 2.0])
_ROUNDING = 8.0  # noise over the step, times this, bounds what rounding does to the formula
_NOISY = 1e-12  # of the values: from here on three of them settle nothing


def along_axes(
    function: Function,
    x: Any,
    *,
    noise: Any,
    claimed: Any,
    enough: Any,
    sizes: Any,
    epsilon: float = EPSILON,
) -> Derivatives:
    """The derivative along every axis, with errors up to `enough` where `claimed` is confirmed.

    `sizes` says how large the numbers of `x` usually are, each in its place: steps are a small part
    of that, or of the number itself.
    """
    middle = function(x[None])[0]
    noise = at_least_rounding(noise, middle)
    relative = relative_noise(noise, middle, epsilon)
    if relative > _NOISY:
        return directional(function, x, noise=noise, claimed=claimed, epsilon=epsilon)
    axes = Axes(np.arange(x.size))
    # Longer than where truncation equals rounding: both shall stay well below float32's digits, for
    # functions of high curvature (6e-5 squared, over 6) and for one of many inputs (rounding over 6e-5).
    steps = 0.5 * relative**0.25 * np.fmax(np.abs(np.where(np.isfinite(x), x, 0.0)), sizes)
    found = Derivatives.joined(
        [
            _three_values(function, x, middle, axes[part], steps[part], noise)
            for part in parts_of(axes, x, len(_DISTANCES))
        ],
        middle.size,
    )
    with np.errstate(all="ignore"):
        settled = (np.abs(found.value - claimed) <= found.error) & (found.error <= enough)
    rest = np.nonzero(~settled.all(axis=1))[0]
    if rest.size:
        seen = directional(
            function, x, axes[rest], noise=noise, claimed=claimed[rest], epsilon=epsilon
        )
        found.take(seen, True, rest)
    return found


def _three_values(
    function: Function, x: Any, middle: Any, axes: Axes, h: Any, noise: Any
) -> Derivatives:
    values = function(axes.points(x, _DISTANCES[:, None] * h)).reshape(3, len(h), -1)
    above, below, beyond = values
    h = h[:, None]
    with np.errstate(all="ignore"):
        central = (above - below) / (2 * h)
        third = (beyond - 3 * (above - middle) - below) / (6 * h)
        value = central - third
        rounding = _ROUNDING * np.fmax(noise, EPSILON * np.abs(values).max(axis=0)) / h
        error = np.abs(third) + rounding
        left, right = (middle - below) / h, (above - middle) / h
    finite = np.isfinite(value) & np.isfinite(middle)
    return Derivatives(
        value,
        np.where(finite, error, np.inf),
        left,
        right,
        np.zeros(value.shape, bool),
        finite,
        np.broadcast_to(h, value.shape).copy(),
    )
