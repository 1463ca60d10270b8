"""Version counters of parameters, gradients, buffers and states, while others write to gradients between the calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tautograd as torch
from tautograd import nn


def plain(model: Any, optimizer: Any, x: Any) -> Any:
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss


def in_zeros(model: Any, optimizer: Any, x: Any) -> Any:
    optimizer.zero_grad(set_to_none=False)
    model(x).square().mean().backward()
    optimizer.step()


def clipped(model: Any, optimizer: Any, x: Any) -> Any:
    optimizer.zero_grad()
    model(x).square().mean().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def split(model: Any, optimizer: Any, x: Any) -> Any:
    optimizer.zero_grad()
    loss = model(x).square().mean()
    value = loss.item()
    loss.backward()
    norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
    if norm > 1:
        for p in model.parameters():
            p.grad.mul_(0.5)
    optimizer.step()
    return value


def left_out(model: Any, optimizer: Any, x: Any) -> Any:
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    if loss > 5:
        optimizer.zero_grad()
        return None
    optimizer.step()
    return loss


def by_hand(model: Any, optimizer: Any) -> None:
    for p in model.parameters():
        if p.grad is not None:
            p.grad.add_(0)


def accumulated(model: Any, optimizer: Any) -> None:
    model(torch.ones(2, 4)).sum().backward()


def of_one(model: Any, optimizer: Any) -> None:
    model[0].weight.grad = torch.ones_like(model[0].weight)


STEPS = (plain, in_zeros, clipped, split, left_out)
BETWEEN: tuple[Callable[[Any, Any], Any], ...] = (
    by_hand,
    accumulated,
    of_one,
    lambda model, optimizer: optimizer.zero_grad(),
    lambda model, optimizer: optimizer.zero_grad(set_to_none=False),
)


def versions(step: Any, between: Any, backend: str | None, fallback: bool) -> Any:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def run(x: Any) -> Any:
        return step(model, optimizer, x)

    fn = run if backend is None else torch.compile(run, backend=backend, fallback=fallback)
    found = []
    for call in range(14):
        fn(torch.randn(3, 4) * (10 if call % 5 == 3 else 1))
        grads = [None if p.grad is None else p.grad._version for p in model.parameters()]
        states = [state["momentum_buffer"]._version for state in optimizer.state.values()]
        found.append([grads, [p._version for p in model.parameters()], states])
        found[-1].append([b._version for b in model.buffers()])
        if call % 3 == 1:
            between(model, optimizer)
    return found


@pytest.mark.filterwarnings("ignore:.*is split into parts")
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_counters_are_those_of_the_plain_step(step: Any, backend: str) -> None:
    for between in BETWEEN:
        expected = versions(step, between, None, False)
        assert versions(step, between, backend, step in (split, left_out)) == expected
