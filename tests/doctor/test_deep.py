"""Experiments aside: the run goes on bit for bit as it would, and what they say is measured."""

from __future__ import annotations

import importlib

import pytest

import tautograd
from tests.both import ENGINES


def train(torch, *, mixed: bool, rate: float = 0.05, steps: int = 24):
    """A loop with dropout; its losses, and numbers drawn after it."""
    torch.manual_seed(3)
    x = torch.randn(192, 4)
    y = x.sum(1, keepdim=True)
    order = torch.randperm(192)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.1), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    losses = []
    for step in range(steps):
        rows = order[8 * step : 8 * step + 8]
        labels = order[(rows * 7) % 192] if mixed else rows
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[labels])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, torch.rand(4).tolist(), [p.detach().clone() for p in model.parameters()]


@pytest.mark.parametrize("name", ENGINES)
def test_the_run_is_bit_for_bit_as_it_was(name):
    torch = importlib.import_module(name)
    plain = train(torch, mixed=False)
    with tautograd.doctor(deep=True) as doctor:
        watched = train(torch, mixed=False)
    after = torch.rand(3)
    torch.manual_seed(3)
    assert watched[:2] == plain[:2]
    assert all(bool((a == b).all()) for a, b in zip(watched[2], plain[2], strict=True))
    assert not doctor.troubles
    assert not doctor.findings, doctor.findings
    train(torch, mixed=False)
    assert torch.rand(3).tolist() == after.tolist(), "random numbers are put back"


@pytest.mark.parametrize("name", ENGINES)
def test_labels_of_other_inputs_are_told(name):
    torch = importlib.import_module(name)
    with tautograd.doctor(deep=True, select=["TG909"]) as doctor:
        train(torch, mixed=True)
    assert [f.code for f in doctor.findings] == ["TG909"]
    assert "shuffled" in doctor.findings[0].message


def test_a_rate_at_which_nothing_moves_is_told_with_a_better_one():
    with tautograd.doctor(deep=True, select=["TG909"]) as doctor:
        train(tautograd, mixed=False, rate=1e-6)
    assert any("comes down" in f.message for f in doctor.findings)


def test_how_long_it_takes_is_said_first():
    said = []
    with tautograd.doctor(deep=True) as doctor:
        doctor.say_deep = lambda what, part: said.append((what, part))
        train(tautograd, mixed=False)
    assert "steps on copies, about" in said[0][0]
    assert said[-1][1] == 1.0
    assert [part for _, part in said] == sorted(part for _, part in said)
