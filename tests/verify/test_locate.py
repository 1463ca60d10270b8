"""Wrong rules are located to the operation and the line; right ones are not accused."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest

from tautograd._verify.locate.locate import CHANGED, TWICE, locate
from tests.both import shared_out
from tests.verify.programs import FIRST_ORDER, SECOND_ORDER
from tests.verify.right_programs import RIGHT

ENGINES = "torch", "tautograd"

for family in "rules", "in_some_form", "in_programs", "in_second_order":
    importlib.import_module(f"tests.verify.wrong_{family}")  # which enters its programs


def line_of(program: Any) -> int:
    """The line of a program that is marked `# here`."""
    lines, first = inspect.getsourcelines(program)
    return next(first + i for i, line in enumerate(lines) if line.rstrip().endswith("# here"))


def assert_located(found: Any, program: Any, wanted: str) -> None:
    operation, _, module = wanted.partition("@")
    assert [s.operation for s in found.suspects] == [operation], found
    suspect = found.suspects[0]
    assert suspect.site is not None
    assert suspect.site.line == line_of(program), suspect.site
    assert suspect.site.file == inspect.getsourcefile(program)
    assert suspect.module == module
    if operation != "register_hook":
        assert suspect.entries
        assert suspect.node


@pytest.mark.parametrize(("name", "engine"), shared_out(FIRST_ORDER))
def test_wrong_rule(engine, name):
    torch = importlib.import_module(engine)
    run, leaves, wanted = FIRST_ORDER[name](torch)
    found = locate(torch, run, leaves)
    assert_located(found, FIRST_ORDER[name], wanted)
    assert not found.cuts


@pytest.mark.parametrize(("name", "engine"), shared_out(SECOND_ORDER))
def test_wrong_in_second_order_only(engine, name):
    torch = importlib.import_module(engine)
    run, leaves, wanted = SECOND_ORDER[name](torch)
    found = locate(torch, run, leaves, order=2)
    assert_located(found, SECOND_ORDER[name], wanted)
    assert TWICE in found.suspects[0].note


@pytest.mark.parametrize(("name", "engine"), shared_out(RIGHT))
def test_right_program_is_not_accused(engine, name):
    torch = importlib.import_module(engine)
    run, leaves = RIGHT[name](torch)
    found = locate(torch, run, leaves, order=2)
    assert not found.suspects, found.suspects
    assert not found.cuts, found.cuts
    assert found.checked


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", [n for n in FIRST_ORDER if "changed_by_data" in n])
def test_a_saved_value_that_changed_is_said(engine, name):
    torch = importlib.import_module(engine)
    run, leaves, _ = FIRST_ORDER[name](torch)
    assert CHANGED in locate(torch, run, leaves).suspects[0].note


@pytest.mark.parametrize("engine", ENGINES)
def test_entries_say_what_was_expected(engine):
    torch = importlib.import_module(engine)
    run, leaves, _ = FIRST_ORDER["one_wrong_entry_of_a_thousand"](torch)
    (entry,) = locate(torch, run, leaves).suspects[0].entries
    x = leaves["x"].detach()[613].item()
    assert (entry.tensor, entry.index) == ("input 0", (613,))
    assert entry.expected == pytest.approx(2 * x, rel=1e-8)
    assert entry.got == pytest.approx(3 * x, rel=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_kink_is_reported_and_no_fault(engine):
    torch = importlib.import_module(engine)
    x = torch.tensor([-1.0, 0.0, 2.0], dtype=torch.float64, requires_grad=True)
    found = locate(torch, lambda: torch.relu(x), {"x": x})
    assert not found.suspects
    (kink,) = found.kinks
    assert kink.index == (1,)
    assert (kink.left, kink.right, kink.taken) == (pytest.approx(0), pytest.approx(1), 0.0)
    assert kink.site is not None
    assert "torch.relu(x)" in kink.site.text


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_of_the_program_changes(engine):
    """Values, gradients, random numbers and leaves are as without a search."""
    torch = importlib.import_module(engine)
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    before = x.detach().clone()

    def run():
        return (torch.nn.functional.dropout(x.detach(), 0.5) * x).sum() + x.detach().sum().item()

    torch.manual_seed(3)
    expected = run().item()
    after = torch.rand(2).tolist()
    torch.manual_seed(3)
    locate(torch, run, {"x": x})
    assert run().item() == expected
    assert torch.rand(2).tolist() == after
    assert (x == before).all()
    assert x.grad is None
