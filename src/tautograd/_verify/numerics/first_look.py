"""The first look at every entry of a Jacobian: two or three values each, for what is right anyway.

At the distances h and -h a function has a central difference, and with the point itself two slopes. If the
derivative under test agrees with the central difference to the digits asked for, which what is wrong does
not by chance, and the slopes show no kink, the entry is settled. If it does not, a third value, at 2h, gives
a third difference: over 6h it is the truncation of the central difference, h²f'''/6; a kink of size k adds
k/6 to it; a step too long shows in it too. It is taken off the central difference, and what it took off,
with the noise over the step, is the error. An entry is settled then if the derivative under test lies within
that error, and the error within what is asked. All others are looked at with six values and as many steps
as they need.
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

_DISTANCES = np.array([1.0, -1.0])
_BEYOND = 2.0
_KINK = 1e-2  # of a slope: from here on the slopes to both sides may be those of a kink
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
            _few_values(function, x, axes[part], steps[part], noise, claimed[part], enough[part])
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


def _few_values(
    function: Function, x: Any, axes: Axes, h: Any, noise: Any, claimed: Any, enough: Any
) -> Derivatives:
    """The derivatives by two values each, and by three where two do not settle them."""
    middle = function(x[None])[0]
    above, below = function(axes.points(x, _DISTANCES[:, None] * h)).reshape(2, len(h), -1)
    with np.errstate(all="ignore"):
        left, right = (middle - below) / h[:, None], (above - middle) / h[:, None]
        value = 0.5 * (left + right)
        largest = np.fmax(np.abs(above), np.abs(below))
        rounding = _ROUNDING * np.fmax(noise, EPSILON * largest) / h[:, None]
        error = np.abs(value - claimed) + rounding
        bend = np.abs(right - left)
        straight = bend <= np.fmax(_KINK * np.fmax(np.abs(left), np.abs(right)), enough)
        open_ = np.nonzero(~((error <= enough) & straight).all(axis=1))[0]
        if open_.size:
            width = h[open_, None]
            beyond = function(axes[open_].points(x, _BEYOND * h[None, open_]))
            third = (beyond - 3 * (above[open_] - middle) - below[open_]) / (6 * width)
            value[open_] -= third
            farther = _ROUNDING * EPSILON * np.abs(beyond) / width
            error[open_] = np.abs(third) + np.fmax(rounding[open_], farther)
    finite = np.isfinite(value) & np.isfinite(middle)
    return Derivatives(
        value,
        np.where(finite, error, np.inf),
        left,
        right,
        np.zeros(value.shape, bool),
        finite,
        np.broadcast_to(h[:, None], value.shape).copy(),
    )
