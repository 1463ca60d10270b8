"""Derivatives by central differences, each with an estimate of its own error.

Three steps (h, h/2, h/4) are extrapolated twice. The change in the last extrapolation bounds
the truncation error, the noise of the function over the step bounds the rounding error, and the error
is their sum: no tolerance is guessed. If it is too large, the step is adjusted (down if truncation
dominates, up if noise does), separately for each direction.

A kink shows in the one-sided derivatives: they differ, and do not converge as the step shrinks.
A kink beside the point, not on it, disappears once the step is short enough; so a kink, or a
disagreement with the derivative under test (`claimed`), counts only if it persists at every
shorter step that the noise can still resolve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .lines import Axes, Lines
from .noise import EPSILON, Function, noise_level

_OFFSETS = np.array([1.0, -1.0, 0.5, -0.5, 0.25, -0.25])
_ZOOM = 64.0  # between two successive step sizes
_LEVELS = 6  # attempts in each direction
_GOOD = 1e-6  # a relative error this small needs no better step
_ROUNDING = 24.0  # noise over the step, times this, bounds what rounding does to the extrapolation
_POINTS_AT_ONCE = 4_000_000  # numbers in one batch of points


_FIELDS = "value", "error", "left", "right", "kink", "finite", "step"


@dataclass
class Derivatives:
    """Derivatives of every output (columns) along every direction (rows)."""

    value: Any
    error: Any
    left: Any
    right: Any
    kink: Any
    finite: Any
    step: Any

    @classmethod
    def joined(cls, blocks: list[Derivatives], outputs: int) -> Derivatives:
        """The concatenation of all blocks."""
        if len(blocks) == 1:
            return blocks[0]
        if not blocks:
            empty, none = np.zeros((0, outputs)), np.zeros((0, outputs), bool)
            return cls(empty, empty, empty, empty, none, none, empty)
        return cls(*(np.concatenate([getattr(b, name) for b in blocks]) for name in _FIELDS))

    def take(self, other: Derivatives, where: Any, rows: Any) -> None:
        """Replace entries of these rows by those of `other`, where indicated."""
        for name in _FIELDS:
            mine = getattr(self, name)
            mine[rows] = np.where(where, getattr(other, name), mine[rows])


def directional(
    function: Function,
    x: Any,
    directions: Any = None,
    *,
    noise: Any = None,
    claimed: Any = None,
    epsilon: float = EPSILON,
) -> Derivatives:
    """The derivative of `function` at `x` along each direction; without any, along each axis.

    `noise` is the noise level of each output (measured if not given), `claimed` the derivative
    under test: entries that disagree with it are examined again with shorter steps.
    """
    x = np.asarray(x, np.float64)
    if noise is None:
        noise = noise_level(function, x, epsilon=epsilon)
    middle = function(x[None])[0]
    noise = at_least_rounding(noise, middle)
    lines = lines_along(x, directions)
    blocks = [
        _block(
            function,
            x,
            middle,
            lines[part],
            noise,
            epsilon,
            claimed if claimed is None else claimed[part],
        )
        for part in parts_of(lines, x, len(_OFFSETS))
    ]
    return Derivatives.joined(blocks, middle.size)


def lines_along(x: Any, directions: Any) -> Lines:
    """The lines along these directions; without any, along every axis."""
    if isinstance(directions, Lines):
        return directions
    return Axes(np.arange(x.size)) if directions is None else Lines(directions)


def parts_of(lines: Lines, x: Any, values: int) -> list[slice]:
    """Split lines into batches of bounded memory, given the number of values per line."""
    rows = max(1, _POINTS_AT_ONCE // (values * max(1, x.size)))
    return [slice(i, i + rows) for i in range(0, len(lines), rows)]


def at_least_rounding(noise: Any, middle: Any) -> Any:
    """The noise, but at least the rounding of the values themselves."""
    return np.fmax(noise, EPSILON * np.abs(np.where(np.isfinite(middle), middle, 0.0)))


def relative_noise(noise: Any, middle: Any, epsilon: float) -> float:
    """The noise relative to the values, for a typical output; at least the inputs' precision."""
    return max(epsilon, float(np.median(_ratio(noise, np.abs(middle)))) if noise.size else 0.0)


def _block(
    function: Function,
    x: Any,
    middle: Any,
    lines: Lines,
    noise: Any,
    epsilon: float,
    claimed: Any,
) -> Derivatives:
    # The step at which truncation and rounding errors of the extrapolated formula are about equal.
    first = min(relative_noise(noise, middle, epsilon), 1e-3) ** 0.2 * lines.reach(x)
    found = _at_step(function, x, middle, lines, first, noise)
    for way, zoom in (("shorter", 1 / _ZOOM), ("longer", _ZOOM)):
        failures = np.zeros(len(first), int)
        for exponent in range(1, _LEVELS + 1):
            unsettled = _unsettled(found, noise, claimed, way)
            rows = np.nonzero(unsettled.any(axis=1) & (failures < 3))[0]
            if not rows.size:
                break
            tried = _at_step(function, x, middle, lines[rows], first[rows] * zoom**exponent, noise)
            better = _better(found, tried, rows, noise, None if claimed is None else claimed[rows])
            found.take(tried, better, rows)
            useful = (better & unsettled[rows]) | ~tried.finite
            failures[rows] = np.where(useful.any(axis=1), 0, failures[rows] + 1)
    return found


def _at_step(
    function: Function, x: Any, middle: Any, lines: Lines, h: Any, noise: Any
) -> Derivatives:
    """Everything that six values around the point show, for one step per direction."""
    values = function(lines.points(x, _OFFSETS[:, None] * h)).reshape(len(_OFFSETS), len(h), -1)
    steps = h[:, None] * np.array([1.0, 0.5, 0.25])[:, None, None]
    with np.errstate(all="ignore"):
        above, below = values[0::2], values[1::2]
        central = (above - below) / (2 * steps)
        once = (4 * central[1:] - central[:-1]) / 3
        value = (16 * once[1] - once[0]) / 15
        # Far from the point the values, and so their rounding, may be larger.
        largest = np.abs(values).max(axis=0, initial=0.0)
        rounding = _ROUNDING * np.fmax(noise, EPSILON * largest) / h[:, None]
        error = np.abs(once[1] - once[0]) + rounding
        forward, backward = (above - middle) / steps, (middle - below) / steps
        jumps = forward - backward  # h times the second derivative, plus what a kink adds
        kinks = 2 * jumps[1:] - jumps[:-1]  # without the former
        kink = np.abs(kinks[1]) > np.maximum(
            4 * rounding,
            np.maximum(4 * np.abs(kinks[1] - kinks[0]), 1e-6 * np.abs(value)),
        )
        lefts, rights = 2 * backward[1:] - backward[:-1], 2 * forward[1:] - forward[:-1]
        sides = np.maximum(np.abs(lefts[1] - lefts[0]), np.abs(rights[1] - rights[0]))
        error = np.where(kink, np.maximum(error, sides + 4 * rounding), error)
        # Steps too long to resolve the function: the second difference grows as they shrink.
        spike = np.abs(jumps[2]) > 1.25 * np.abs(jumps[1]) + 4 * rounding
        error = np.where(spike & ~kink, np.maximum(error, np.abs(jumps[2])), error)
    finite = np.isfinite(value) & np.isfinite(middle)
    error = np.where(finite, error, np.inf)
    return Derivatives(
        value,
        error,
        lefts[1],
        rights[1],
        kink,
        finite,
        np.broadcast_to(h[:, None], value.shape).copy(),
    )


def _unsettled(found: Derivatives, noise: Any, claimed: Any, way: str) -> Any:
    """Which entries a shorter (or longer) step may improve."""
    size = np.abs(found.value)
    usual = np.where(found.finite, size, 0.0).max(axis=1, initial=0.0, keepdims=True)
    rounding = _ROUNDING * noise / found.step
    poor = ~found.finite | (found.error > _GOOD * np.maximum(size, 1e-3 * usual))
    by_noise = found.finite & (rounding > 0.4 * found.error)
    if way == "longer":
        return poor & by_noise & ~found.kink
    suspect = found.kink
    if claimed is not None:
        suspect = suspect | (np.abs(found.value - claimed) > found.error)
    return (poor & ~by_noise) | (
        suspect & (rounding < 0.02 * np.maximum(size, np.abs(found.right - found.left)))
    )


def _better(found: Derivatives, tried: Derivatives, rows: Any, noise: Any, claimed: Any) -> Any:
    """Which entries of `tried` improve on what was found before."""
    old = Derivatives(*(getattr(found, name)[rows] for name in _FIELDS))
    better = tried.finite & (tried.error < old.error)
    shorter = tried.step < old.step
    # A longer step may skip over features: it must not contradict the shorter one.
    contradicts = np.abs(tried.value - old.value) > old.error + tried.error
    better &= shorter | ~old.finite | ~contradicts
    better |= tried.finite & shorter & contradicts
    rounding = _ROUNDING * noise / tried.step
    # A kink that disappears at a shorter step lay beside the point; one that stays is better resolved.
    jump = np.abs(old.right - old.left)
    better |= tried.finite & shorter & old.kink & (rounding < 0.02 * jump)
    if claimed is not None:
        gap = np.abs(old.value - claimed)
        doubted = gap > old.error
        better |= tried.finite & shorter & doubted & (tried.error < 0.1 * gap)
    return better


def _ratio(noise: Any, size: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.where(size > 0, noise / np.maximum(size, 1e-300), 0.0)
