"""TG409 comes at the 20th step, so its mistakes cannot be pairs of the corpus, which are told within ten."""

from __future__ import annotations

import pytest

import tautograd
from tests.both import ENGINES

from .corpus.judge import engine as load
from .corpus.parts import perceptron, regression


def number(torch, out, y):
    return ((out.detach() - y) ** 2).mean() + 0 * out.sum()


def tensor(torch, out, y):
    return ((out.detach() - y) ** 2).mean() + out.sum() * torch.tensor(0.0)


def mask(torch, out, y):
    return (y**2).mean() + (out * torch.zeros_like(y)).sum()


def two_weights(torch, out, y):
    return 1 + 0.0 * torch.nn.functional.mse_loss(out, y) + 0.0 * out.abs().mean()


def watched(engine, loss_of, *, steps=24, optimizers=1):
    """What the doctor says of a loop with this loss, whose parameters several optimizers may share out."""
    torch = load(engine)
    torch.manual_seed(0)
    x, y = regression(torch)
    with tautograd.doctor(engines=[torch]) as doctor:
        model = perceptron(torch, 4, 6, 1)
        parameters = list(model.parameters())
        all_of_them = [
            torch.optim.Adam(parameters[i::optimizers], lr=1e-3) for i in range(optimizers)
        ]
        for _ in range(steps):
            for optimizer in all_of_them:
                optimizer.zero_grad()
            loss_of(torch, model(x), y).backward()
            for optimizer in all_of_them:
                optimizer.step()
    assert not doctor.troubles
    assert not torch.is_anomaly_enabled()
    return doctor.findings


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loss_of", [number, tensor, mask, two_weights])
def test_a_weight_of_nothing_is_told_with_its_line(loss_of, engine):
    (found,) = watched(engine, loss_of)
    assert (found.code, found.step) == ("TG409", 20)
    assert found.site.function == loss_of.__name__
    assert len(found.parameters) == 4


@pytest.mark.parametrize("engine", ENGINES)
def test_it_is_told_once_for_several_optimizers(engine):
    assert [found.code for found in watched(engine, number, optimizers=2)] == ["TG409"]


@pytest.mark.parametrize("engine", ENGINES)
def test_nineteen_steps_are_too_few(engine):
    assert not watched(engine, number, steps=19)
