"""Fast mode: random probes find one wrong entry among many, as often as the report says they would."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tautograd

SIZES = 10, 100, 1_000, 10_000


def _sines(torch: Any) -> Any:
    """sin, whose gradient is off by what a second argument says."""

    class Sine(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, off):
            return x.sin()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, off = ctx.saved_tensors
            return g * (x.cos() + off), None

    return Sine


class Trial:
    """One function of n numbers, whose gradient can be spoilt in one entry."""

    def __init__(self, torch: Any, sine: Any, n: int, seed: int) -> None:
        self.torch, self.sine, self.seed = torch, sine, seed
        self.random = np.random.default_rng([n, seed])
        self.x = self.random.uniform(-1, 1, n)
        self.place = int(self.random.integers(n))

    def verified(self, error: float, **options: Any) -> Any:
        """The report of fast mode, the gradient of one entry being off by so much."""
        torch = self.torch
        off = np.zeros_like(self.x)
        off[self.place] = error
        spoilt = torch.tensor(off.tolist(), dtype=torch.float64)
        x = torch.tensor(self.x.tolist(), dtype=torch.float64, requires_grad=True)
        options = {"seed": self.seed, "locate": False, "confirm": False, **options}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tautograd.verify(
                lambda x: self.sine.apply(x, spoilt).sum(), (x,), mode="fast", **options
            )

    @property
    def entry(self) -> float:
        """The gradient at the place that is spoilt."""
        return float(np.cos(self.x[self.place]))


def _caught(torch: Any, n: int, trials: int) -> int:
    """Of so many trials, in how many a wrong entry, off by 1% to 100%, is caught."""
    sine = _sines(torch)
    caught = 0
    for seed in range(trials):
        trial = Trial(torch, sine, n, seed)
        part = 10.0 ** trial.random.uniform(-2, 0) * trial.random.choice([-1, 1])
        caught += not trial.verified(part * trial.entry).ok
    return caught


@pytest.mark.parametrize("n", SIZES)
def test_one_wrong_entry_is_caught(torch, n, count):
    trials = 8 if n <= 1_000 else 3
    caught = _caught(torch, n, trials)
    count("single wrong entries caught by fast mode", caught)
    assert caught == trials


@pytest.mark.slow
@pytest.mark.parametrize("n", SIZES)
def test_one_wrong_entry_is_caught_in_99_of_100_trials(torch, n, count):
    caught = _caught(torch, n, 100)
    count("single wrong entries caught by fast mode", caught)
    assert caught >= 99


@pytest.mark.parametrize("n", [10, 300])
def test_a_right_gradient_is_not_accused_by_any_seed(torch, n):
    sine = _sines(torch)
    for seed in range(8):
        assert Trial(torch, sine, n, seed).verified(0.0).ok


def _stated_and_observed(torch: Any, n: int, trials: int) -> tuple[np.ndarray, np.ndarray]:
    """For errors around the least that is certain to be caught: the probability that the report of
    the right gradient states, and whether the wrong gradient was caught."""
    sine = _sines(torch)
    stated, observed = [], []
    for seed in range(trials):
        trial = Trial(torch, sine, n, seed)
        report = trial.verified(0.0)
        certain = report.figures["caught_with_probability_0.99"]
        assert 0 < certain < 1e-2, "errors of a hundredth of an entry are to be certain"
        error = certain * 10.0 ** trial.random.uniform(-0.7, 0.7)
        stated.append(report.detection(error))
        observed.append(trial.verified(error).checks[0].verdict == "wrong")
    return np.array(stated), np.array(observed)


def _agree(stated: np.ndarray, observed: np.ndarray) -> None:
    # Four standard deviations of so many independent trials with these probabilities, and one trial
    # in twenty more: within a few per cent of the threshold rounding decides.
    allowed = 4 * np.sqrt((stated * (1 - stated)).sum()) + 0.05 * len(stated) + 1
    assert abs(stated.sum() - observed.sum()) <= allowed
    assert observed[stated == 1].mean() > 0.9
    assert observed[stated == 0].mean() < 0.1


def test_the_stated_probability_is_the_observed_one(torch):
    _agree(*_stated_and_observed(torch, 50, 16))


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 100, 1_000])
def test_the_stated_probability_is_the_observed_one_in_100_trials(torch, n):
    _agree(*_stated_and_observed(torch, n, 100))


def test_one_probe_states_less_than_eight(torch):
    trial = Trial(torch, _sines(torch), 100, 0)
    one, eight = trial.verified(0.0, probes=1), trial.verified(0.0, probes=8)
    sizes = np.geomspace(1e-14, 1e-2, 13)
    assert all(one.detection(s) <= eight.detection(s) + 0.02 for s in sizes)
    assert eight.detection(1e-2) > 0.99
    assert eight.detection(0.0) == 0


def test_pytorch_fast_mode_misses_one_in_a_thousand(count):
    """Beside: `gradcheck(fast_mode=True)` of PyTorch itself, on the same functions."""
    import torch

    sine = _sines(torch)
    missed = 0
    for seed in range(10):
        trial = Trial(torch, sine, 1_000, seed)
        off = torch.zeros(1_000, dtype=torch.float64)
        off[trial.place] = 0.01 * trial.entry
        x = torch.tensor(trial.x, requires_grad=True)
        missed += torch.autograd.gradcheck(
            lambda x, off=off: sine.apply(x, off).sum(), (x,), fast_mode=True, raise_exception=False
        )
        assert not trial.verified(0.01 * trial.entry).ok
    count("of 10 such entries in a thousand missed by PyTorch's fast gradcheck", missed)
    assert missed > 0
