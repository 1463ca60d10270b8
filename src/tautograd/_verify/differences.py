"""Derivatives by central differences, each with an estimate of its own error.

Three steps (h, h/2, h/4) are extrapolated twice. What the last extrapolation still changed bounds
the truncation, the noise of the function over the step bounds the rounding, and their sum is the
error: no tolerance has to be guessed. Where it is too large the step is moved (down if truncation
is to blame, up if noise is), for each direction by itself.

A kink shows in the one-sided derivatives: they differ, and do not come together as the step shrinks.
One that lies beside the point, not on it, disappears once the step is short enough; so a kink, or a
disagreement with the derivative under test (`claimed`), is believed only if it stays at every
shorter step that the noise still lets one see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .noise import EPSILON, Function, noise_level, scale_of

_OFFSETS = np.array([1.0, -1.0, 0.5, -0.5, 0.25, -0.25])
_ZOOM = 64.0  # between two step sizes that are tried
_LEVELS = 6  # of them in each direction
_GOOD = 1e-7  # relative error that needs no better step
_POINTS_AT_ONCE = 4_000_000  # numbers in one batch of points


@dataclass
class Derivatives:
    """Of every output (columns) along every direction (rows)."""

    value: Any
    error: Any
    left: Any
    right: Any
    kink: Any
    finite: Any
    step: Any

    def take(self, other: Derivatives, where: Any, rows: Any) -> None:
        """Replace entries of these rows by those of `other`, where told."""
        for name in ("value", "error", "left", "right", "kink", "finite", "step"):
            mine = getattr(self, name)
            mine[rows] = np.where(where, getattr(other, name), mine[rows])


def directional(
    function: Function,
    x: Any,
    directions: Any,
    *,
    noise: Any = None,
    claimed: Any = None,
    epsilon: float = EPSILON,
) -> Derivatives:
    """The derivative of `function` at `x` along each direction.

    `noise` is the noise level of each output (measured if not given), `claimed` what the derivative
    under test says: entries that disagree with it are looked at again with shorter steps.
    """
    x = np.asarray(x, np.float64)
    directions = np.asarray(directions, np.float64)
    if noise is None:
        noise = noise_level(function, x, epsilon=epsilon)
    middle = function(x[None])[0]
    rows = max(1, _POINTS_AT_ONCE // (len(_OFFSETS) * max(1, x.size)))
    blocks = [
        _block(function, x, middle, directions[i : i + rows], noise, epsilon,
               None if claimed is None else claimed[i : i + rows])
        for i in range(0, len(directions), rows)
    ]  # fmt: skip
    if len(blocks) == 1:
        return blocks[0]
    names = ("value", "error", "left", "right", "kink", "finite", "step")
    if not blocks:
        empty = np.zeros((0, middle.size))
        return Derivatives(
            *(empty.astype(bool) if n in ("kink", "finite") else empty for n in names)
        )
    return Derivatives(*(np.concatenate([getattr(b, n) for b in blocks]) for n in names))


def _block(
    function: Function,
    x: Any,
    middle: Any,
    directions: Any,
    noise: Any,
    epsilon: float,
    claimed: Any,
) -> Derivatives:
    # The step at which truncation and rounding of the extrapolated formula are about equal.
    relative = max(epsilon, float(np.median(_ratio(noise, np.abs(middle)))) if noise.size else 0.0)
    first = min(relative, 1e-3) ** 0.2 * _reach(x, directions)
    found = _at_step(function, x, middle, directions, first, noise)
    for way, exponents in (("shorter", range(1, _LEVELS + 1)), ("longer", range(1, _LEVELS + 1))):
        for exponent in exponents:
            rows = np.nonzero(_unsettled(found, noise, claimed, way).any(axis=1))[0]
            if not rows.size:
                break
            zoom = _ZOOM ** (-exponent if way == "shorter" else exponent)
            tried = _at_step(function, x, middle, directions[rows], first[rows] * zoom, noise)
            better = _better(found, tried, rows, noise, None if claimed is None else claimed[rows])
            found.take(tried, better, rows)
    return found


def _at_step(
    function: Function, x: Any, middle: Any, directions: Any, h: Any, noise: Any
) -> Derivatives:
    """All that six values around the point say, for one step per direction."""
    points = x + (_OFFSETS[:, None] * h)[:, :, None] * directions
    values = function(points.reshape(-1, x.size)).reshape(len(_OFFSETS), len(directions), -1)
    steps = h[:, None] * np.array([1.0, 0.5, 0.25])[:, None, None]
    with np.errstate(all="ignore"):
        above, below = values[0::2], values[1::2]
        central = (above - below) / (2 * steps)
        once = (4 * central[1:] - central[:-1]) / 3
        value = (16 * once[1] - once[0]) / 15
        rounding = 16 * noise / h[:, None]
        error = np.abs(once[1] - once[0]) + rounding
        forward, backward = (above - middle) / steps, (middle - below) / steps
        jumps = forward - backward  # h times the second derivative, and what a kink adds
        kinks = 2 * jumps[1:] - jumps[:-1]  # without the former
        kink = np.abs(kinks[1]) > np.maximum(
            4 * rounding,
            np.maximum(4 * np.abs(kinks[1] - kinks[0]), 1e-6 * np.abs(value)),
        )
        lefts, rights = 2 * backward[1:] - backward[:-1], 2 * forward[1:] - forward[:-1]
        sides = np.maximum(np.abs(lefts[1] - lefts[0]), np.abs(rights[1] - rights[0]))
        error = np.where(kink, np.maximum(error, sides + 4 * rounding), error)
        # Steps too long to see the function at all: the second difference grows as they shrink.
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
    """Which entries a shorter (or longer) step may tell more about."""
    size = np.abs(found.value)
    usual = np.where(found.finite, size, 0.0).max(axis=1, initial=0.0, keepdims=True)
    rounding = 16 * noise / found.step
    poor = ~found.finite | (found.error > _GOOD * np.maximum(size, 1e-3 * usual))
    by_noise = found.finite & (rounding > 0.5 * found.error)
    if way == "longer":
        return poor & by_noise & ~found.kink
    suspect = found.kink
    if claimed is not None:
        suspect = suspect | (np.abs(found.value - claimed) > found.error)
    return (poor & ~by_noise) | (
        suspect & (rounding < 0.02 * np.maximum(size, np.abs(found.right - found.left)))
    )


def _better(found: Derivatives, tried: Derivatives, rows: Any, noise: Any, claimed: Any) -> Any:
    """Which entries of `tried` tell more than what was found before."""
    old = Derivatives(*(getattr(found, n)[rows] for n in
                        ("value", "error", "left", "right", "kink", "finite", "step")))  # fmt: skip
    better = tried.finite & (tried.error < old.error)
    shorter = tried.step < old.step
    # A longer step may miss what happens in between: it must not contradict the shorter one.
    better &= shorter | ~old.finite | (np.abs(tried.value - old.value) <= old.error + tried.error)
    rounding = 16 * noise / tried.step
    # A kink that is gone at a shorter step lay beside the point; one that stays is seen more closely.
    jump = np.abs(old.right - old.left)
    better |= tried.finite & shorter & old.kink & (rounding < 0.02 * jump)
    if claimed is not None:
        gap = np.abs(old.value - claimed)
        doubted = gap > old.error
        better |= tried.finite & shorter & doubted & (tried.error < 0.1 * gap)
    return better


def _reach(x: Any, directions: Any) -> Any:
    """How far along each direction one may go before the numbers change by their own size."""
    size = scale_of(x)
    with np.errstate(divide="ignore"):
        room = np.where(directions != 0, size / np.abs(directions), np.inf)
    reach = room.min(axis=1, initial=np.inf)
    return np.where(np.isfinite(reach) & (reach > 0), reach, 1.0)


def _ratio(noise: Any, size: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.where(size > 0, noise / np.maximum(size, 1e-300), 0.0)
