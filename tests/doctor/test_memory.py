"""What the doctor remembers of a long run does not grow with it."""

from __future__ import annotations

import gc
import os
import tracemalloc
from itertools import pairwise
from pathlib import Path

import pytest

import tautograd
from tautograd._doctor.state import step_numbers
from tests.both import ENGINES

from .corpus.judge import engine as load
from .corpus.parts import perceptron, regression

PAGE = os.sysconf("SC_PAGE_SIZE")
DOCTOR = tracemalloc.Filter(True, str(Path(step_numbers.__file__).parent / "*"))


def usual(torch, model, optimizer, x, y, step):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()


def irregular(torch, model, optimizer, x, y, step):
    """No two cycles are alike for long: the doctor wakes up again and again."""
    for _ in range(1 + step % 7):
        torch.nn.functional.mse_loss(model(x), y).backward()
    if step % 11 == 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 5:
        optimizer.zero_grad(set_to_none=bool(step % 3))
    if step % 200 == 0:
        model.eval()
        with torch.no_grad():
            model(x)
        model.train()


def risky(torch, model, optimizer, x, y, step):
    """Operations that are watched in every step."""
    optimizer.zero_grad()
    (model(x) - y).square().sum(1).add(0.1).sqrt().log().mean().backward()
    optimizer.step()


def in_use():
    gc.collect()
    held = sum(
        entry.size
        for entry in tracemalloc.take_snapshot().filter_traces([DOCTOR]).statistics("filename")
    )
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
    return held, len(gc.get_objects()), resident


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("loop", "steps"),
    [(usual, 10_000), (risky, 10_000), (irregular, 2_000)],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_memory_is_flat(engine, loop, steps):
    torch = load(engine)
    torch.manual_seed(0)
    x, y = regression(torch)
    model = perceptron(torch, 4, 6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    tracemalloc.start()
    try:
        with tautograd.doctor(engines=[torch]) as doctor:
            for step in range(steps // 4):
                loop(torch, model, optimizer, x, y, step)
            before = in_use()
            for step in range(steps // 4, steps):
                loop(torch, model, optimizer, x, y, step)
            after = in_use()
    finally:
        tracemalloc.stop()
    assert not doctor.troubles
    assert doctor.steps == steps
    held, objects, resident = (b - a for a, b in zip(before, after, strict=True))
    # The history may fill up to its limit; nothing else is kept for a step.
    assert held < 200_000, f"the doctor holds {held:,} bytes more"
    assert objects < 2_000, f"{objects:,} objects more"
    assert resident < 8_000_000, f"{resident:,} bytes more"


@pytest.mark.parametrize("engine", ENGINES)
def test_the_history_is_bounded(engine, monkeypatch):
    """Of a long run every other entry is dropped, and the rest is spread over all of it."""
    monkeypatch.setattr(step_numbers, "KEPT", 16)
    torch = load(engine)
    x, y = regression(torch)
    model = perceptron(torch, 4, 3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with tautograd.doctor(engines=[torch]) as doctor:
        for step in range(40):
            usual(torch, model, optimizer, x, y, step)
    history = doctor.history
    rows = [history.losses, *history.norms.values(), *history.ratios.values()]
    assert 8 <= len(history.steps) < 16
    assert {len(row) for row in rows} == {len(history.steps)}
    assert history.steps == sorted(set(history.steps))
    assert history.steps[0] < 8
    assert history.steps[-1] > 32


@pytest.mark.parametrize("engine", ENGINES)
def test_the_history_covers_a_run_of_any_length(engine):
    engine = load(engine)
    model = engine.nn.Linear(2, 1)
    optimizer = engine.optim.SGD(model.parameters(), lr=0.01)
    x = engine.ones(3, 2)
    with tautograd.doctor(engines=[engine]) as doctor:
        for _ in range(700):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
    steps = doctor.history.steps
    assert 45 <= len(steps) <= 120
    assert all(later <= 1.2 * step + 8 for step, later in pairwise(steps))
    assert steps[-1] == doctor.history.curve.steps[-1] == 700
    assert doctor.history.curve.steps[:3] == [1, 2, 3]
