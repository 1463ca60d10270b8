"""A quick check of every entry of a Jacobian: two or three values each, enough for entries that are
right.

The values at distances h and -h give a central difference, and with the point itself two slopes. If the
derivative under test agrees with the central difference to the required digits, which a wrong one does
not do by chance, and the slopes show no kink, the entry is settled, however noisy the function is;
likewise if nothing changes and the claimed slope is zero. If not, the noise is measured, and a third
value, at 2h, gives a third difference: over 6h it is the truncation of the central difference,
h²f'''/6; a kink of size k adds k/6 to it; a step that is too long shows in it too. It is subtracted
from the central difference, and the amount subtracted plus the noise over the step is the error. The
entry is then settled if the derivative under test lies within that error, and the error within the
required accuracy. All others get six values and as many steps as they need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .compare import SINGLE
from .differences import (
    Derivatives,
    at_least_rounding,
    directional,
    parts_of,
    relative_noise,
)
from .lines import Axes
from .noise import EPSILON, Function

_TWO, _THREE = np.array([1.0, -1.0]), np.array([1.0, -1.0, 2.0])
_KINK = 1e-2  # of a slope: from here on, a difference of the two slopes may be a kink
_FAINT = 2.0**-10  # of the largest slopes: anything smaller is not a kink
_ROUNDING = 8.0  # noise over the step, times this, bounds what rounding does to the formula
_NOISY = 1e-12  # of the values: above this, three of them settle nothing


def along_axes(
    function: Function,
    x: Any,
    *,
    noise: Callable[[], Any],
    claimed: Any,
    enough: Any,
    sizes: Any,
    epsilon: float = EPSILON,
    bends: Any = None,
) -> Derivatives:
    """The derivative along every axis, with errors up to `enough` where `claimed` is confirmed.

    `bends` is the accuracy required of the largest entries (default: `enough`): kinks are judged
    relative to those. `sizes` gives the usual size of the numbers of `x`, each in its place: steps are
    a small fraction of that, or of the number itself. `noise` measures the noise of the values, and is
    called only if needed.
    """
    middle = function(x[None])[0]
    axes = Axes(np.arange(x.size))
    sizes = np.fmax(np.abs(np.where(np.isfinite(x), x, 0.0)), sizes)
    steps = _step(epsilon) * sizes
    found = Derivatives.joined(
        [
            _two_values(function, x, middle, axes[part], steps[part], claimed[part])
            for part in parts_of(axes, x, len(_TWO))
        ],
        middle.size,
    )
    with np.errstate(all="ignore"):
        left, right = np.abs(found.left), np.abs(found.right)
        bend = np.abs(found.right - found.left)
        faint = _FAINT / SINGLE * (enough if bends is None else bends)
        straight = bend <= np.fmax(_KINK * np.fmax(left, right), faint)
        settled = straight & (found.error <= enough)
        # A step in which nothing changes at all shows no slope, however far away the next one is.
        settled |= (left == 0) & (right == 0) & (claimed == 0)
    rest = np.nonzero(~settled.all(axis=1))[0]
    if not rest.size:
        return found
    level = at_least_rounding(noise(), middle)
    relative = relative_noise(level, middle, epsilon)
    if relative > _NOISY:
        return directional(function, x, noise=level, claimed=claimed, epsilon=epsilon)
    # Longer than where truncation equals rounding: both must stay well below float32's digits, for
    # functions of high curvature (6e-5 squared, over 6) and of many inputs (rounding over 6e-5).
    steps = _step(relative) * sizes
    for part in parts_of(axes[rest], x, len(_THREE)):
        rows = rest[part]
        seen = _three_values(function, x, middle, axes[rows], steps[rows], level)
        found.take(seen, True, rows)
    with np.errstate(all="ignore"):
        settled = (np.abs(found.value - claimed) <= found.error) & (found.error <= enough)
    rest = np.array([row for row in rest if not settled[row].all()], int)
    if rest.size:
        seen = directional(
            function, x, axes[rest], noise=level, claimed=claimed[rest], epsilon=epsilon
        )
        found.take(seen, True, rest)
    return found


def noise_seen(found: Derivatives, claimed: Any, middle: Any) -> Any:
    """A bound on the noise of each output, if all entries are settled: the gap between a derivative
    and its central difference, over the step, is at least what noise contributes to it."""
    with np.errstate(all="ignore"):
        gap = np.abs(found.value - claimed) * found.step
    return at_least_rounding(np.where(np.isfinite(gap), gap, 0.0).max(axis=0, initial=0.0), middle)


def _step(relative: float) -> float:
    return 0.5 * float(relative**0.25)


def _two_values(
    function: Function, x: Any, middle: Any, axes: Axes, h: Any, claimed: Any
) -> Derivatives:
    # A function that batches its points may append further ones in the same memory.
    blank = {"blank": function.blank} if hasattr(function, "blank") else {}
    values = function(axes.points(x, _TWO[:, None] * h, **blank)).reshape(2, len(h), -1)
    above, below = values
    h = h[:, None]
    with np.errstate(all="ignore"):
        value = (above - below) / (2 * h)
        rounding = _ROUNDING * EPSILON * np.abs(values).max(axis=0) / h
        error = np.abs(value - claimed) + rounding
    return _derivatives(value, error, middle, above, below, h)


def _three_values(
    function: Function, x: Any, middle: Any, axes: Axes, h: Any, noise: Any
) -> Derivatives:
    values = function(axes.points(x, _THREE[:, None] * h)).reshape(3, len(h), -1)
    above, below, beyond = values
    h = h[:, None]
    with np.errstate(all="ignore"):
        central = (above - below) / (2 * h)
        third = (beyond - 3 * (above - middle) - below) / (6 * h)
        rounding = _ROUNDING * np.fmax(noise, EPSILON * np.abs(values).max(axis=0)) / h
        error = np.abs(third) + rounding
    return _derivatives(central - third, error, middle, above, below, h)


def _derivatives(
    value: Any, error: Any, middle: Any, above: Any, below: Any, h: Any
) -> Derivatives:
    with np.errstate(all="ignore"):
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
