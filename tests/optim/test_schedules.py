"""Every schedule gives PyTorch's learning rates, and is saved, restored and misused as PyTorch's is."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest

from tests.both import same
from tests.optim.runs import ENGINES, engine

STEPS = 120


def _optimizer(torch: Any, name: str = "SGD", groups: int = 2, **options: Any) -> Any:
    settings = {"lr": 0.5} | ({"momentum": 0.9} if name == "SGD" else {}) | options
    made = [{"params": [torch.ones(1, requires_grad=True)]} for _ in range(groups)]
    for i, group in enumerate(made[1:]):
        group["lr"] = 0.01 * (i + 1)
    return getattr(torch.optim, name)(made, **settings)


class Halving:
    """A callable whose attributes are saved."""

    def __init__(self, base: float) -> None:
        self.base = base

    def __call__(self, epoch: float) -> float:
        return self.base ** (epoch / 10)


SCHEDULES = {
    "lambda": lambda s, o: s.LambdaLR(o, lambda e: 0.95**e),
    "lambdas": lambda s, o: s.LambdaLR(o, [lambda e: e // 30, Halving(0.9)]),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.99 + 0.001 * (e % 3)),
    "multiplicatives": lambda s, o: s.MultiplicativeLR(o, [Halving(0.9), lambda e: 0.9]),
    "step": lambda s, o: s.StepLR(o, 7),
    "step gamma": lambda s, o: s.StepLR(o, step_size=30, gamma=0.5),
    "milestones": lambda s, o: s.MultiStepLR(o, [30, 5, 80, 5], gamma=0.3),
    "constant": lambda s, o: s.ConstantLR(o, factor=0.25, total_iters=10),
    "linear": lambda s, o: s.LinearLR(o, start_factor=0.1, end_factor=0.7, total_iters=40),
    "exponential": lambda s, o: s.ExponentialLR(o, gamma=0.97),
    "polynomial": lambda s, o: s.PolynomialLR(o, total_iters=50, power=1.7),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, T_max=17, eta_min=0.001),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, T_0=9),
    "growing restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5, T_mult=2, eta_min=0.01),
    "cyclic": lambda s, o: s.CyclicLR(o, 0.01, 0.2, step_size_up=7, step_size_down=11),
    "cyclic 2": lambda s, o: s.CyclicLR(o, [0.01, 0.02], 0.2, step_size_up=9, mode="triangular2"),
    "cyclic range": lambda s, o: s.CyclicLR(
        o, 0.01, 0.2, step_size_up=9, mode="exp_range", gamma=0.98, base_momentum=0.5
    ),
    "cyclic own": lambda s, o: s.CyclicLR(
        o, 0.01, 0.2, step_size_up=9, scale_fn=Halving(0.7), scale_mode="iterations"
    ),
    "one cycle": lambda s, o: s.OneCycleLR(o, max_lr=0.4, total_steps=STEPS + 1),
    "one cycle, three phases": lambda s, o: s.OneCycleLR(
        o, [0.4, 0.2], epochs=13, steps_per_epoch=10, three_phase=True, anneal_strategy="linear"
    ),
    "one cycle, no momentum": lambda s, o: s.OneCycleLR(
        o, 0.4, total_steps=STEPS + 1, cycle_momentum=False, pct_start=0.5, div_factor=3.0
    ),
    "chained": lambda s, o: s.ChainedScheduler(
        [s.ConstantLR(o, 0.1, total_iters=5), s.ExponentialLR(o, 0.98), s.StepLR(o, 40)]
    ),
    "sequence": lambda s, o: s.SequentialLR(
        o,
        [s.LinearLR(o, 0.1, total_iters=10), s.CosineAnnealingLR(o, 30), s.ExponentialLR(o, 0.9)],
        milestones=[10, 60],
    ),
    "sequence of sequences": lambda s, o: s.SequentialLR(
        o,
        [
            s.SequentialLR(o, [s.ConstantLR(o, 0.5, 3), s.StepLR(o, 4)], [6]),
            s.ExponentialLR(o, 0.97),
        ],
        [40],
    ),
}
CLOSED = ["step", "milestones", "constant", "linear", "exponential", "polynomial", "cosine"]


def _schedule(torch: Any, what: str, optimizer: Any) -> Any:
    with warnings.catch_warnings():  # a sequence steps the sequences in it, before any training
        warnings.filterwarnings("ignore", message="Detected call of `lr_scheduler.step")
        return SCHEDULES[what](torch.optim.lr_scheduler, optimizer)


def _seen(optimizer: Any) -> list[Any]:
    keys = ("lr", "momentum", "betas", "initial_lr")
    return [[group[k] for k in keys if k in group] for group in optimizer.param_groups]


def _without_functions(state: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in state.items() if "anneal_func" not in k or isinstance(v, str)}


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize("what", SCHEDULES)
@same
def test_sequence(torch, what, optimizer):
    owner = _optimizer(torch, optimizer)
    scheduler = _schedule(torch, what, owner)
    seen = [_seen(owner)]
    for _ in range(STEPS):
        owner.step()
        scheduler.step()
        seen.append([_seen(owner), scheduler.get_last_lr()])
    state = scheduler.state_dict()
    return seen, list(state), _without_functions(state), repr(owner)


@pytest.mark.parametrize("what", [w for w in SCHEDULES if "cyc" not in w and "growing" not in w])
@same
def test_tensor_learning_rates(torch, what):
    owner = _optimizer(torch, groups=2, lr=torch.tensor(0.5, dtype=torch.float64))
    owner.param_groups[1]["lr"] = torch.tensor(0.01, dtype=torch.float64)
    rate = owner.param_groups[0]["lr"]
    scheduler = _schedule(torch, what, owner)
    seen = []
    for _ in range(40):
        owner.step()
        scheduler.step()
        seen.append(rate.item())
    return seen, owner.param_groups[0]["lr"] is rate


@pytest.mark.parametrize("what", SCHEDULES)
@same
def test_restored(torch, what):
    """A schedule saved half-way and loaded into a fresh one goes on as if nothing had happened."""
    owner = _optimizer(torch)
    scheduler = _schedule(torch, what, owner)
    for _ in range(23):
        owner.step()
        scheduler.step()
    state, saved = scheduler.state_dict(), owner.state_dict()
    other = _optimizer(torch)
    fresh = _schedule(torch, what, other)
    fresh.load_state_dict(state)
    other.load_state_dict(saved)
    seen = []
    for _ in range(30):
        other.step()
        fresh.step()
        seen.append(_seen(other))
    return seen


@pytest.mark.parametrize("what", CLOSED)
@same
def test_closed_form(torch, what):
    owner = _optimizer(torch)
    scheduler = _schedule(torch, what, owner)
    seen = []
    owner.step()
    for epoch in (3, 40, 12, 7):
        with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step"):
            scheduler.step(epoch)
        seen.append(_seen(owner))
    return seen


@same
def test_restarts_between_epochs(torch):
    owner = _optimizer(torch)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(owner, 4, T_mult=3)
    seen = []
    for epoch in (0, 0.5, 3.75, 4, 15.5, 16, 60, 2):
        scheduler.step(epoch)
        seen.append([_seen(owner), scheduler.T_cur, scheduler.T_i, scheduler.last_epoch])
    return seen


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
@same
def test_plateau(torch, mode, threshold_mode):
    owner = _optimizer(torch)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
        owner, mode, 0.5, 3, 0.05, threshold_mode, cooldown=2, min_lr=[0.01, 0.002]
    )
    seen = []
    for i in range(STEPS):
        scheduler.step(torch.tensor(math.sin(i / 9) + 1 / (i + 1)))
        seen.append([_seen(owner), scheduler.num_bad_epochs, scheduler.in_cooldown])
    state = scheduler.state_dict()
    fresh = torch.optim.lr_scheduler.ReduceLROnPlateau(_optimizer(torch))
    fresh.load_state_dict(state)
    return seen, state, fresh.state_dict()


@same
def test_plateau_with_a_group_added(torch):
    owner = _optimizer(torch)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(owner, patience=0)
    owner.add_param_group({"params": [torch.ones(1)], "lr": 3.0})
    for _ in range(3):
        scheduler.step(1.0)
    return _seen(owner)


@pytest.mark.parametrize("how", ["order", "overridden", "get_lr", "fine"])
def test_warnings(how: str) -> None:
    said = []
    for name in ENGINES:
        torch = engine(name)
        owner = _optimizer(torch)
        scheduler = torch.optim.lr_scheduler.StepLR(owner, 2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if how == "overridden":
                owner.step = lambda: None
            if how != "order":
                owner.step()
            scheduler.step()
            scheduler.step()
            if how == "get_lr":
                scheduler.get_lr()
        said.append([(w.category, str(w.message), w.filename == __file__) for w in caught])
    assert said[0] == said[1]
    assert len(said[0]) == (how != "fine")


@same
def test_resuming(torch):
    owner = _optimizer(torch)
    with pytest.raises(KeyError, match="param 'initial_lr' is not specified"):
        torch.optim.lr_scheduler.StepLR(owner, 3, last_epoch=5)
    for group in owner.param_groups:
        group["initial_lr"] = 0.7
    seen = []
    for make in (
        lambda s: s.StepLR(owner, 3, last_epoch=5),
        lambda s: s.CosineAnnealingLR(owner, 10, last_epoch=5),
        lambda s: s.ExponentialLR(owner, 0.9, last_epoch=5),
        lambda s: s.LinearLR(owner, last_epoch=2),
        lambda s: s.PolynomialLR(owner, 20, last_epoch=2),
    ):
        scheduler = make(torch.optim.lr_scheduler)
        seen.append(_seen(owner))
        owner.step()
        scheduler.step()
        seen.append(_seen(owner))
    return seen


ERRORS = {
    "no optimizer": lambda s, o: s.StepLR(3, 1),
    "lambdas": lambda s, o: s.LambdaLR(o, [abs]),
    "no function": lambda s, o: s.MultiplicativeLR(o, 3),
    "constant": lambda s, o: s.ConstantLR(o, 2.0),
    "linear start": lambda s, o: s.LinearLR(o, 0.0),
    "linear end": lambda s, o: s.LinearLR(o, 0.5, 1.5),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 0),
    "restarts mult": lambda s, o: s.CosineAnnealingWarmRestarts(o, 1, 0.5),
    "restarts min": lambda s, o: s.CosineAnnealingWarmRestarts(o, 1, 1, "a"),
    "restarts epoch": lambda s, o: s.CosineAnnealingWarmRestarts(o, 1).step(-1),
    "cyclic mode": lambda s, o: s.CyclicLR(o, 0.1, 0.2, mode="no"),
    "cyclic lengths": lambda s, o: s.CyclicLR(o, [0.1], 0.2),
    "one cycle": lambda s, o: s.OneCycleLR(o, 0.1),
    "one cycle steps": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=0),
    "one cycle epochs": lambda s, o: s.OneCycleLR(o, 0.1, epochs=0, steps_per_epoch=1),
    "one cycle part": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=4, pct_start=2.0),
    "one cycle kind": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=4, anneal_strategy="no"),
    "one cycle over": lambda s, o: [x := s.OneCycleLR(o, 0.1, total_steps=2), *_thrice(o, x)],
    "plateau factor": lambda s, o: s.ReduceLROnPlateau(o, factor=1.0),
    "plateau mode": lambda s, o: s.ReduceLROnPlateau(o, "no"),
    "plateau threshold": lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="no"),
    "plateau lengths": lambda s, o: s.ReduceLROnPlateau(o, min_lr=[0.1]),
    "nothing in sequence": lambda s, o: s.SequentialLR(o, [], []),
    "milestones": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 1)], [1]),
    "plateau in sequence": lambda s, o: s.SequentialLR(o, [s.ReduceLROnPlateau(o)], []),
    "no scheduler": lambda s, o: s.SequentialLR(o, [3], []),
    "nothing chained": lambda s, o: s.ChainedScheduler([]),
    "plateau chained": lambda s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]),
    "base": lambda s, o: s.LRScheduler(o),
}


def _thrice(owner: Any, scheduler: Any) -> list[Any]:
    owner.step()
    return [scheduler.step() for _ in range(3)]


@pytest.mark.parametrize("what", ERRORS)
def test_errors(what: str) -> None:
    said = []
    for name in ENGINES:
        torch = engine(name)
        with pytest.raises(Exception) as caught:
            ERRORS[what](torch.optim.lr_scheduler, _optimizer(torch))
        said.append((type(caught.value), str(caught.value)))
    assert said[0] == said[1]
