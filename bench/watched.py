"""The doctor's overhead: a training step that is watched, against the same step unwatched."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from bench.steps import STEPS, Work

MOST, LEAST = 121, 31  # pairs: a watched turn and a bare one, back to back,
SECONDS = 10  # as many as this time allows
TURN = 0.025  # seconds per turn, or more: it has at least four steps
WARM = 60  # steps; the first ones are watched closely, each of them measured


def watched_step(name: str, engine: str) -> Callable[[], tuple[float, float]]:
    """Seconds of a watched step and of a bare one, with every step watched.

    A slow phase of the machine affects both turns of a pair, if they are short: the figure is the
    median of the pairs' own ratios, and the order within pairs alternates.
    """

    def measure() -> tuple[float, float]:
        import torch

        import tautograd

        which = tautograd if engine == "tautograd" else torch
        step = STEPS[name].on(which)
        doctor = tautograd.doctor(engines=[which])
        _turn(step, 3)
        once = _turn(step, 3)
        count = max(4, int(TURN / once))
        pairs = min(MOST, max(LEAST, int(SECONDS / (2 * count * once))))
        with doctor:
            _turn(step, WARM)
        bare: list[float] = []
        ratios = []
        for i in range(pairs):
            if i % 2:
                watched = _with(doctor, step, count)
            bare.append(_settled(step, count))
            if not i % 2:
                watched = _with(doctor, step, count)
            ratios.append(watched / bare[-1])
        usual = statistics.median(bare)
        return usual * statistics.median(ratios), usual

    return measure


def _turn(step: Work, count: int) -> float:
    started = time.perf_counter()
    for _ in range(count):
        step()
    return (time.perf_counter() - started) / count


def _settled(step: Work, count: int) -> float:
    """A turn after a few steps of its kind: Python drops its caches for a class that was changed."""
    _turn(step, max(1, count // 5))
    return _turn(step, count)


def _with(doctor: Any, step: Work, count: int) -> float:
    """A turn under the doctor, without timing its setup and removal, which a script does once."""
    with doctor:
        return _settled(step, count)
