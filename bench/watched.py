"""What the doctor costs: a training step that is watched, against the same step that is not."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from bench.steps import STEPS, Work

TURN = 0.25  # seconds of one turn
WARM = 60  # steps; the first ones are looked at closely, and every one of them is measured


def watched_step(name: str, engine: str, rounds: int = 15) -> Callable[[], tuple[float, float]]:
    """Seconds of a watched step and of a bare one, turn by turn, every step watched."""

    def measure() -> tuple[float, float]:
        import torch

        import tautograd

        torch.set_num_threads(2)
        which = tautograd if engine == "tautograd" else torch
        step = STEPS[name].on(which)
        doctor = tautograd.doctor(engines=[which])
        _turn(step, 3)
        count = max(4, int(TURN / _turn(step, 3)))
        with doctor:
            _turn(step, WARM)
        bare, watched = [], []
        for _ in range(rounds):
            bare.append(_turn(step, count))
            watched.append(_with(doctor, step, count))
        return statistics.median(watched), statistics.median(bare)

    return measure


def _turn(step: Work, count: int) -> float:
    started = time.perf_counter()
    for _ in range(count):
        step()
    return (time.perf_counter() - started) / count


def _with(doctor: Any, step: Work, count: int) -> float:
    """A turn under the doctor, whose coming and going are not timed: a script has one of each."""
    with doctor:
        return _turn(step, count)
