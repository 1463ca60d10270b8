"""Random steps in which Python decides by values: what is written before a decision is put back, or is there once."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import tautograd as torch
from tautograd import nn
from tautograd.nn import functional as F

from .compare import assert_same, bits

CALLS = 14


class World:
    """What a step can change: parameters with their optimizer, statistics, plain tensors."""

    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        self.linear, self.norm = nn.Linear(3, 3), nn.BatchNorm1d(3)
        self.total, self.count, self.rows = torch.zeros(3), torch.zeros(()), torch.ones(4, 3)
        weights = [*self.linear.parameters(), *self.norm.parameters()]
        kind = torch.optim.Adam if seed % 2 else torch.optim.SGD
        self.optimizer = kind(weights, lr=0.01)

    def seen(self) -> Any:
        weights = [*self.linear.parameters(), *self.norm.parameters()]
        tensors = [*weights, *self.norm.buffers(), self.total, self.count, self.rows]
        grads = [w.grad for w in weights]
        return [tensors, grads, [t._version for t in tensors], self.optimizer.state_dict()["state"]]


def _by_branch(w: World, x: Any, y: Any, a: float, p: float, log: list[Any]) -> Any:
    if y.sum() > p - 0.5:
        w.count.add_(1)
        return y.tanh()
    return y - torch.rand(())


def _by_number(w: World, x: Any, y: Any, a: float, p: float, log: list[Any]) -> Any:
    value = y.detach().abs().mean().item()
    log.append(value * 2)
    return y / (value + 0.1) if value * a > p else y


def _by_loop(w: World, x: Any, y: Any, a: float, p: float, log: list[Any]) -> Any:
    turns = 0
    while y.detach().abs().max() > 1 + p and turns < 4:
        y, turns = y * 0.6, turns + 1
    log.append(turns)
    return y


def _trained(w: World, x: Any, y: Any, a: float, p: float, log: list[Any]) -> Any:
    loss = w.linear(y.detach()).square().mean() * a
    loss.backward()
    w.optimizer.step()
    log.append(loss.detach())
    return y


def _clipped(w: World, x: Any, y: Any, a: float, p: float, log: list[Any]) -> Any:
    grad = w.linear.weight.grad
    if grad is not None and grad.norm() > p:
        grad.mul_(p)
    return y


def _written(w: World, x: Any, y: Any, a: float, p: float, log: list[Any]) -> Any:
    w.rows[1].copy_(y.detach().sum(0) * p)
    w.total.add_(y.detach().mean() * a)
    with torch.no_grad():
        w.linear.bias.add_(y.mean() * 0.01)
    return y


PIECES: list[Callable[..., Any]] = [
    _by_branch,
    _by_number,
    _by_loop,
    _trained,
    _clipped,
    _written,
    lambda w, x, y, a, p, log: y * a + min(a, p),
    lambda w, x, y, a, p, log: F.dropout(y, p / 2),
    lambda w, x, y, a, p, log: y + torch.rand(3) * 0.1,
    lambda w, x, y, a, p, log: w.norm(y),
    lambda w, x, y, a, p, log: x.mul_(1 - p / 10) * 0 + y,
]


def step_of(world: World, seed: int) -> Callable[..., Any]:
    draw = random.Random(seed)
    chosen = [(draw.choice(PIECES), draw.random()) for _ in range(draw.randint(3, 8))]

    def step(x: Any, a: float) -> Any:
        if seed % 3:
            world.optimizer.zero_grad()
        y, log = x, []
        for piece, p in chosen:
            y = piece(world, x, y, a, p, log)
        if not torch.isfinite(y).all():
            return None
        return y.detach(), log

    return step


def replays(seed: int) -> int:
    """Compare a random step with its compiled twin; how often a record was replayed."""
    worlds = [World(seed), World(seed)]
    plain, other = (step_of(world, seed) for world in worlds)
    compiled = torch.compile(other, backend="numpy", fallback=True)
    draw = random.Random(seed)
    for i in range(CALLS):
        a = draw.choice([0.3, 0.8, draw.random() * 2])
        outcomes = []
        for run, world in zip((plain, compiled), worlds, strict=True):
            torch.manual_seed(i)
            x = torch.randn(4, 3) * (1 + i % 4)
            result = run(x, a)
            outcomes.append(bits([result, x, world.seen(), torch.get_rng_state()]))
        assert_same(outcomes[1], outcomes[0], where=f"step {seed}, call {i}")
    return sum(entry.calls for found in compiled._entries.values() for entry in found)


@pytest.mark.filterwarnings("ignore:.*(is split into parts|is not compiled)")
def test_random_decisions() -> None:
    assert sum(map(replays, range(30))) > 30 * CALLS // 4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*(is split into parts|is not compiled)")
@pytest.mark.parametrize("part", range(8))
def test_many_random_decisions(part: int) -> None:
    for seed in range(100 + 50 * part, 150 + 50 * part):
        replays(seed)
