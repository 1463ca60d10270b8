"""Random training steps with everything changed between calls; `python -m tests.compile.fuzz` runs any number."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from . import fuzz


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sound", [None, True, False])
def test_random_steps(sound: bool | None) -> None:
    seed = random.SystemRandom().randrange(1 << 40)
    options = {"backend": "numpy", "sound": sound, "fallback": True, "dynamic": False}
    for n in range(4):
        wrong, _ = fuzz.check(seed + n, options, torch)
        assert not wrong, (seed + n, wrong)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_many_random_steps(part: int) -> None:
    assert fuzz.main(["--count", "100"]) == 0, part


@pytest.mark.filterwarnings("ignore")
def test_a_small_fault_is_not_taken_for_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    class SlightlyWrong:
        records = 0

        def __init__(self, step: Any, **options: Any) -> None:
            self.step = step

        def __call__(self, *arguments: Any) -> Any:
            loss, out = self.step(*arguments)
            return loss * (1 + 1e-6), out

        def _alive(self) -> list[Any]:
            return []

    monkeypatch.setattr(fuzz.tautograd, "compile", SlightlyWrong)
    found = [fuzz.check(seed, {}, None)[0] for seed in range(10)]
    assert sum(bool(wrong) for wrong in found) >= 9


def test_rounding_that_training_magnifies_is_told_apart() -> None:
    seed = 378741911156  # a GRU whose weights grow: one unit in the last place is 5e-5 eight calls later
    assert fuzz._spread(seed, 3) < 1e-12
    assert fuzz._spread(seed, 9) > fuzz.BOUND
