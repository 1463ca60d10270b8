"""Whether two gradients of the same values agree up to rounding.

Both were computed by the same rule, at the same point, from the same numbers, so they may differ only in
the order of summation. Where it matters, the rounding is measured, by moving the inputs by a few
roundings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..report.findings import Entry
from .problem import Problem, Rows

_ROUNDINGS = 64.0  # of the largest number that contributes to a gradient
_FLOAT32 = 1e-6  # of a gradient: constants may have been rounded to float32
_MOST = 6  # entries shown


@dataclass
class Difference:
    """Where two gradients differ by more than rounding."""

    kind: str
    entries: list[Entry]
    count: int
    largest: float
    allowed: float


Spread = Callable[[], Rows]
"""How far rounding moves each gradient; measured lazily."""


def difference(
    problem: Problem,
    kind: str,
    found: Rows,
    expected: Rows,
    reach: Rows,
    spread: Spread,
    least: float = 0.0,
) -> Difference | None:
    """Where `found` differs from `expected`; `reach` is how large their terms are."""
    if plainly_the_same(problem, found, expected, reach, least):
        return None
    wrong = _wrong(problem, found, expected, reach, None, least)
    if not any(w.any() for w in wrong if w is not None):
        return None
    moved = spread()
    wrong = _wrong(problem, found, expected, reach, moved, least)
    count = sum(int(w.sum()) for w in wrong if w is not None)
    if not count:
        return None
    return Difference(kind, *_worst(problem, wrong, found, expected, moved, count))


def plainly_the_same(
    problem: Problem, found: Rows, expected: Rows, reach: Rows, least: float = 0.0
) -> bool:
    """Fast path for the usual case: everything is finite, and no entry is off by more than rounding."""
    room = max(_ROUNDINGS * problem.epsilon, _FLOAT32)
    for one, other, size in zip(found, expected, reach, strict=True):
        if one is None or other is None or one.shape != other.shape:
            continue
        with np.errstate(all="ignore"):
            largest = np.abs(size).max(initial=0.0)
            gap = np.abs(one - other).max(initial=0.0)
        # NaN anywhere makes one of these NaN, and the comparison false.
        if not (largest < np.inf and gap <= room * largest + least):
            return False
    return True


def _wrong(
    problem: Problem, found: Rows, expected: Rows, reach: Rows, moved: Rows | None, least: float
) -> Rows:
    wrong: Rows = []
    for i, (one, other, size) in enumerate(zip(found, expected, reach, strict=True)):
        if one is None or other is None or one.shape != other.shape:
            wrong.append(None)
            continue
        with np.errstate(all="ignore"):
            finite = np.isfinite(other)
            largest = np.where(np.isfinite(size), np.abs(size), 0.0).max(initial=0.0)
            allowed = max(_ROUNDINGS * problem.epsilon, _FLOAT32) * largest + least
            if moved is not None and moved[i] is not None:
                allowed = allowed + moved[i]
            wrong.append(finite & ~(np.abs(one - other) <= allowed))
    return wrong


def _worst(
    problem: Problem, wrong: Rows, found: Rows, expected: Rows, moved: Rows, count: int
) -> tuple[list[Entry], int, float, float]:
    places = []
    for i, mask in enumerate(wrong):
        if mask is None:
            continue
        for index in np.argwhere(mask)[:200]:
            at = tuple(int(k) for k in index)
            gap = abs(found[i][at] - expected[i][at])
            places.append((float("inf") if np.isnan(gap) else float(gap), i, at))
    places.sort(key=lambda place: -place[0])
    entries = []
    for _, i, at in places[:_MOST]:
        room = 0.0 if moved[i] is None else float(np.broadcast_to(moved[i], found[i].shape)[at])
        values = _plain(expected[i][at]), _plain(found[i][at])
        entries.append(Entry(problem.name(i), at, *values, room))
    largest, i, at = places[0]
    return entries, count, largest, entries[0].error


def _plain(value: Any) -> Any:
    return complex(value) if np.iscomplexobj(value) else float(value)


def rounding_of(problem: Problem, leaves: Sequence[Any], sent: Sequence[Any], seed: int) -> Rows:
    """How far a few roundings of the inputs move each gradient, as one number per leaf."""
    random = np.random.default_rng(seed)
    engine = problem.engine

    def gradients(values: Sequence[Any]) -> Rows:
        asked, outputs = problem.recorded(values)
        return problem.pulled(asked, outputs, sent)

    here = gradients(leaves)
    reach: Rows = [None if row is None else 0.0 for row in here]
    for _ in range(3):
        moved = []
        for leaf in leaves:
            signs = random.choice([-1.0, 1.0], tuple(leaf.shape))
            step = engine.from_numpy(np.asarray(1 + 4 * problem.epsilon * signs))
            moved.append(leaf.detach() * step.to(dtype=leaf.dtype, device=leaf.device))
        try:
            there = gradients(moved)
        except Exception:  # beside the point the function may be undefined
            continue
        for i, (one, other) in enumerate(zip(here, there, strict=True)):
            if one is not None and other is not None and one.shape == other.shape:
                with np.errstate(all="ignore"):
                    gap = np.abs(one - other)
                    gap = np.where(np.isfinite(gap), gap, 0.0).max(initial=0.0)
                reach[i] = max(reach[i], 8 * float(gap))
    return reach
