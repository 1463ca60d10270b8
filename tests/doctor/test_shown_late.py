"""Facts that show only after some time: schedules by their end, layers thawed late, weights that stay swapped."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import pytest

import tautograd
from tautograd._doctor.doctor import loaded_engines
from tests.both import ENGINES

from .corpus.judge import engine as load
from .corpus.judge import findings
from .corpus.parts import perceptron, regression


def told(loop):
    return [(f.code, f.site.text.strip() if f.site else "") for f in findings(loop)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("per_batch", [True, False])
def test_a_cycle_of_batches_stepped_per_epoch(engine, per_batch):
    torch = load(engine)
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        made = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=24)
        for _ in range(3):
            for i in range(0, 32, 4):
                optimizer.zero_grad()
                torch.nn.functional.mse_loss(model(x[i : i + 4]), y[i : i + 4]).backward()
                optimizer.step()
                if per_batch and made.last_epoch < 23:
                    made.step()
            if not per_batch:
                made.step()

    assert told(loop) == ([] if per_batch else [("TG905", "made.step()")])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("scale", [1.0, 0.002])
def test_a_rate_where_a_factor_was_asked_for(engine, scale):
    torch = load(engine)
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
        made = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: scale * min(1, (i + 1) / 5))
        for _ in range(20):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
            made.step()

    found = [code for code, _ in told(loop)]
    assert found == ([] if scale == 1.0 else ["TG905"])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("is_added", [True, False])
def test_a_backbone_thawed_by_its_flag_when_nobody_looks(engine, is_added):
    torch = load(engine)
    x, y = regression(torch)

    def loop():
        body, head = torch.nn.Linear(4, 6), torch.nn.Linear(6, 1)
        model = torch.nn.Sequential(body, torch.nn.Tanh(), head)
        for p in body.parameters():
            p.requires_grad = False
        optimizer = torch.optim.SGD(head.parameters(), lr=0.01)
        for epoch in range(4):
            model.train()
            for _ in range(10):
                optimizer.zero_grad()
                torch.nn.functional.mse_loss(model(x), y).backward()
                optimizer.step()
            if epoch == 1:
                for p in body.parameters():
                    p.requires_grad = True
                if is_added:
                    optimizer.add_param_group({"params": list(body.parameters())})

    assert [code for code, _ in told(loop)] == ([] if is_added else ["TG301"])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("is_back", [True, False])
def test_weights_that_are_swapped_in_and_not_out(engine, is_back):
    torch = load(engine)
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        average = {name: p.detach().clone() for name, p in model.named_parameters()}
        for step in range(24):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
            for name, p in model.named_parameters():
                average[name].lerp_(p.detach(), 0.1)
            if step % 6 == 5:
                own = {name: p.detach().clone() for name, p in model.named_parameters()}
                model.load_state_dict(average)
                back = own if is_back else average
                model.load_state_dict(back)

    assert told(loop) == ([] if is_back else [("TG305", "model.load_state_dict(back)")])


def test_an_engine_that_stands_for_another_is_watched_once(monkeypatch):
    stands = ModuleType("torch")
    stands.Tensor = tautograd.Tensor
    monkeypatch.setitem(sys.modules, "torch", stands)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert len(loaded_engines()) == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_what_the_doctor_does_itself_is_no_cut(engine):
    """Other rules read values of the same layers while an iteration is traced."""
    torch = load(engine)
    x, y = regression(torch)

    def loop():
        gate, body = torch.nn.Linear(4, 3), torch.nn.Linear(4, 3)
        optimizer = torch.optim.SGD([*gate.parameters(), *body.parameters()], lr=0.01)
        for _ in range(12):
            optimizer.zero_grad()
            chances = gate(x).softmax(1)
            best = chances.argmax(1)
            picked = torch.nn.functional.one_hot(best, 3).float()
            torch.nn.functional.mse_loss((picked * body(x)).sum(1, keepdim=True), y).backward()
            optimizer.step()

    assert told(loop) == [("TG401", "best = chances.argmax(1)")]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_trace_of_a_loop_by_hand_leaves_no_mode_behind(engine):
    torch = load(engine)
    x, y = regression(torch)

    def loop():
        first, second = torch.ones(4, 6, requires_grad=True), torch.ones(6, 1, requires_grad=True)
        for _ in range(6):
            hidden = (x @ first).detach()
            (hidden @ second - y).square().mean().backward()
            with torch.no_grad():
                second -= 0.001 * second.grad
                second.grad.zero_()

    assert ("TG401", "hidden = (x @ first).detach()") in told(loop)
    overrides = importlib.import_module(f"{engine}.overrides")
    assert not overrides._get_current_function_mode_stack()
