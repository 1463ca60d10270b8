"""Copies of a network that no update reaches, TG315: it takes twenty steps to tell."""

from __future__ import annotations

import copy

import pytest

from .corpus.judge import engine as load
from .corpus.judge import findings, told
from .corpus.parts import perceptron, regression


def waits_for_a_later_step(torch):
    """Every thousandth step: this run ends before."""
    x, y = regression(torch)
    online, period = perceptron(torch, 4, 8, 1), 1000
    target = copy.deepcopy(online)
    optimizer = torch.optim.Adam(online.parameters(), lr=0.01)
    for step in range(45):
        with torch.no_grad():
            aim = 0.5 * y + 0.5 * target(x)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(online(x), aim).backward()
        optimizer.step()
        due = (step + 1) % period == 0
        if due:
            target.load_state_dict(online.state_dict())


def waits_for_a_count_that_stands_still(torch):
    """The same, of a number that has reached its end."""
    x, y = regression(torch)
    online, filled = perceptron(torch, 4, 8, 1), 0
    target = copy.deepcopy(online)
    optimizer = torch.optim.Adam(online.parameters(), lr=0.01)
    for _ in range(45):
        filled = min(filled + 1, 16)
        with torch.no_grad():
            aim = 0.5 * y + 0.5 * target(x)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(online(x), aim).backward()
        optimizer.step()
        if filled % 100 == 0:
            target.load_state_dict(online.state_dict())


def reference_that_stays(torch):
    """Loaded once, before the loop, and asked ever after."""
    x, y = regression(torch)
    policy, reference = perceptron(torch, 4, 8, 1), perceptron(torch, 4, 8, 1)
    reference.load_state_dict(policy.state_dict())
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(45):
        with torch.no_grad():
            before = reference(x)
        out = policy(x)
        optimizer.zero_grad()
        (torch.nn.functional.mse_loss(out, y) + 0.1 * (out - before).square().mean()).backward()
        optimizer.step()


def codes_of(torch, loop):
    torch.manual_seed(0)
    found = findings(lambda: loop(torch))
    return [f.code for f in found], told(found)


@pytest.mark.parametrize("engine", ["tautograd", "torch"])
def test_a_condition_that_cannot_come_true_is_told(engine):
    codes, said = codes_of(load(engine), waits_for_a_count_that_stands_still)
    assert codes == ["TG315"], said


@pytest.mark.parametrize("loop", [waits_for_a_later_step, reference_that_stays])
def test_a_copy_that_may_be_meant_to_wait_is_not(loop):
    codes, said = codes_of(load("tautograd"), loop)
    assert not codes, said
