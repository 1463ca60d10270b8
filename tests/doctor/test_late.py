"""NaN that comes late, when no step is looked at closely any more: its operation and line are told."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import tautograd
from tests.both import ENGINES

from .corpus.judge import engine as load
from .corpus.parts import perceptron, regression

LATE = 150  # the bad step, from 1
HERE = Path(__file__)


def watched(engine, loss_of, *, steps=LATE + 5, stops=False, **options):
    """A loop whose loss is `loss_of(torch, model, x, y, is_late)`, and what the doctor says of it."""
    torch = load(engine)
    torch.manual_seed(0)
    x, y = regression(torch)
    with tautograd.doctor(engines=[torch], **options) as doctor:
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for step in range(1, steps + 1):
            optimizer.zero_grad()
            loss = loss_of(torch, model, x, y, step == LATE)
            loss.backward()
            optimizer.step()
            if step == LATE - 1:
                assert doctor.pulse.awake == (options.get("look_at") == LATE)
            if stops and not math.isfinite(loss.item()):
                break
    assert not doctor.troubles
    assert not torch.is_anomaly_enabled()
    return doctor.findings


def distance(torch, model, x, y, is_late):
    out = model(x)
    difference = out - (out.detach() if is_late else y)
    return difference.square().sum(1).sqrt().mean()  # the cause


def masked(torch, model, x, y, is_late):
    out = model(x) - (1000.0 if is_late else 0.0)
    root = (out if is_late else out.abs()).sqrt()  # the cause
    return (torch.where(out > 0, root, out) - y).square().mean()


def logarithm(torch, model, x, y, is_late):
    chance = torch.sigmoid(model(x) - (1000.0 if is_late else 0.0))
    return -(y.abs() * chance.log()).mean()  # the cause


def division(torch, model, x, y, is_late):
    spread = model(x).std() * (0.0 if is_late else 1.0)
    return ((model(x) - y) / spread).square().mean()  # the cause


def data(torch, model, x, y, is_late):
    inputs = torch.where(x > 0, x, float("nan")) if is_late else x
    return torch.nn.functional.mse_loss(model(inputs), y)  # the cause


CAUSES = {
    distance: "SqrtBackward0", masked: "SqrtBackward0", logarithm: "LogBackward0",
    division: "DivBackward0", data: "AddmmBackward0",
}  # fmt: skip


def line_of(function):
    source = HERE.read_text(encoding="utf-8").splitlines()
    first = function.__code__.co_firstlineno
    return next(i for i in range(first, len(source) + 1) if source[i - 1].endswith("# the cause"))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.__name__)
def test_the_operation_and_its_line(cause, engine):
    (found,) = watched(engine, cause)
    assert found.code == "TG701"
    assert found.figures["operation"] == CAUSES[cause]
    assert found.figures["step"] == LATE
    assert Path(found.site.file).samefile(HERE)
    assert found.site.line == line_of(cause)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("cause", [distance, logarithm], ids=lambda cause: cause.__name__)
@pytest.mark.parametrize("ends", ["at the first loss that is not finite", "with the bad step"])
def test_a_script_that_ends_there(cause, engine, ends):
    steps = LATE if ends.startswith("with") else LATE + 5
    (found,) = watched(engine, cause, steps=steps, stops=True)
    assert (found.code, found.figures["operation"]) == ("TG701", CAUSES[cause])
    assert found.site.line == line_of(cause)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_not_known_is_not_claimed(engine):
    """An infinite gradient that no operation made: a hook of the user did."""

    def hooked(torch, model, x, y, is_late):
        out = model(x)
        if is_late:
            out.register_hook(lambda g: g * math.inf)
        return torch.nn.functional.mse_loss(out, y)

    (found,) = watched(engine, hooked)
    assert found.code == "TG701"
    assert "operation" not in found.figures
    assert f"since step {LATE}" in found.message
    assert f"--look-at {LATE}" in found.message
    assert found.site.text == "optimizer.step()"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("look_at", [None, LATE])
def test_a_step_to_look_at_is_looked_at_node_by_node(engine, look_at):
    """An overflow in backward, in operations of which nobody expects one."""

    def overflow(torch, model, x, y, is_late):
        small, large = (1e-20, 1e20) if is_late else (1.0, 1.0)
        out = model(x) * small * small
        return ((out * large) * large - y).square().mean()  # the cause

    (found,) = watched(engine, overflow, look_at=look_at)
    assert found.code == "TG701"
    assert found.figures.get("operation") == (None if look_at is None else "MulBackward0")
    if look_at is not None:
        assert found.site.line == line_of(overflow)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_gradient_that_is_mended_is_not_accused(engine):
    def mended(torch, model, x, y, is_late):
        out = model(x)
        out.register_hook(lambda g: torch.nan_to_num(g, posinf=0.0, neginf=0.0))
        difference = out - (out.detach() if is_late else y)
        return difference.square().sum(1).sqrt().mean()

    assert not watched(engine, mended)
