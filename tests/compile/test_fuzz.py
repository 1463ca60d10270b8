"""Random training steps with everything changed between calls; `python -m tests.compile.fuzz` runs any number."""

from __future__ import annotations

import random

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
