"""Every mistake of the corpus is found within ten steps, on its line; every correction is clean.

On both engines. The run prints how many were.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.both import shared_out

from .corpus import PAIRS
from .corpus.judge import engine as load
from .corpus.judge import findings, located, matching, told
from .corpus.parts import perceptron, regression


@pytest.mark.parametrize(("name", "engine"), shared_out(PAIRS))
def test_a_mistake_is_found_on_its_line(name, engine, count):
    case = PAIRS[name]
    bug, _ = case.loops(load(engine))
    count("mistakes")
    found = findings(bug)
    what = f"{'/'.join(case.codes)} on line {case.lines}: {case.why}\n{told(found)}"
    meant = matching(case, found)
    assert meant, f"not found: {what}"
    count("mistakes found")
    assert located(case, meant), f"another line: {what}"
    count("mistakes located")


@pytest.mark.parametrize(("name", "engine"), shared_out(PAIRS))
def test_a_correction_is_clean(name, engine, count):
    case = PAIRS[name]
    _, fix = case.loops(load(engine))
    count("corrections")
    found = findings(fix)
    if found:
        count("corrections accused")
    assert not found, f"accused though corrected: {case.why}\n{told(found)}"


def test_there_are_enough_pairs():
    codes = Counter(case.codes[0] for case in PAIRS.values())
    assert len(PAIRS) >= 80
    assert min(codes.values()) >= 2


@pytest.mark.parametrize("is_shared", [True, False])
def test_a_count_of_steps_that_all_parameters_share(is_shared):
    """PyTorch counts it up for each of them; tautograd once, so that nothing is wrong there."""
    torch = load("torch")

    def loop():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        step = torch.tensor(10.0)
        x, y = regression(torch)
        for p in model.parameters():
            moments = {name: torch.zeros_like(p) for name in ("exp_avg", "exp_avg_sq")}
            optimizer.state[p] = {"step": step if is_shared else step.clone(), **moments}
        for _ in range(6):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

    found = findings(loop)
    assert [finding.code for finding in found] == ["TG304"] * is_shared
    if is_shared:
        assert found[0].message.endswith("a step counts as 4.")
