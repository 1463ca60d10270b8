"""Interleaved timing: both sides see the same machine at the same time.

Each turn begins with one untimed piece of work: it brings data back into the caches, and lets the other side's
threads go to sleep that are still waiting for work on the same cores.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Work = Callable[[], object]


class LeftOut(Exception):
    """An engine that cannot do a piece of work here; the message says why."""


@dataclass(frozen=True)
class Sample:
    """The times of both sides, in seconds per piece of work, in the order in which they were taken."""

    ours: Sequence[float]
    theirs: Sequence[float]

    @property
    def medians(self) -> tuple[float, float]:
        return statistics.median(self.ours), statistics.median(self.theirs)


def interleaved(
    ours: Work, theirs: Work, *, rounds: int = 21, round_seconds: float = 0.02
) -> Sample:
    """Time both, turn by turn; short work is repeated so that each turn lasts `round_seconds`."""
    times = _turn_by_turn((ours, theirs), rounds, round_seconds)
    return Sample(*times)


def _turn_by_turn(
    sides: Sequence[Work], rounds: int, round_seconds: float
) -> tuple[list[float], ...]:
    counts = [_repetitions(side, round_seconds) for side in sides]
    times: tuple[list[float], ...] = tuple([] for _ in sides)
    for _ in range(rounds):
        for side, count, found in zip(sides, counts, times, strict=True):
            side()
            found.append(_seconds(side, count))
    return times


def once_each(ours: Callable[[], float], theirs: Callable[[], float], *, rounds: int) -> Sample:
    """Like `interleaved`, for work that measures and returns its own time (a subprocess, say)."""
    ours(), theirs()  # warms the disk cache and writes byte code
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    return Sample([a for a, _ in pairs], [b for _, b in pairs])


def _repetitions(work: Work, seconds: float) -> int:
    """How often to repeat work so that it lasts about `seconds`; also warms it up."""
    for _ in range(3):
        work()
    count = 1
    while (elapsed := _seconds(work, count) * count) < seconds and count < 1_000_000:
        count = max(count * 2, int(count * seconds / max(elapsed, 1e-9) * 0.5))
    return count


def _seconds(work: Work, count: int) -> float:
    started = time.perf_counter()
    for _ in range(count):
        work()
    return (time.perf_counter() - started) / count
