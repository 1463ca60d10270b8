"""Modules, parameters, optimizers and gradients, changed between calls: the plain answer, and how many records."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import tautograd as torch
from tautograd import nn

from .compare import lockstep


def changing(change: Any, calls: int = 12, **options: Any) -> Any:
    """A training step, with something changed after the fifth call."""

    def make() -> Any:
        model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.3), nn.BatchNorm1d(4), nn.Linear(4, 1))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, weight_decay=0.0)
        x = torch.randn(6, 3)
        count = iter(range(calls))

        def step() -> Any:
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        def seen() -> Any:
            if next(count) == 5:
                change(model, optimizer)
            return [
                list(model.parameters()),
                list(model.buffers()),
                optimizer.state_dict()["state"],
            ]

        return step, seen

    # Sums of six numbers in a batch norm, in another order than its fused function takes.
    return lockstep(make, calls, bound=6 * calls * 8, **options)


def _reload(model: Any, optimizer: Any) -> None:
    states = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
    model.load_state_dict(states[0])
    optimizer.load_state_dict(states[1])


def _other_memory(model: Any, optimizer: Any) -> None:
    model[0].weight.data = model[0].weight.data * 0.5


def _other_layer(model: Any, optimizer: Any) -> None:
    model[3] = nn.Linear(4, 1)
    optimizer.add_param_group({"params": list(model[3].parameters())})


def _hook(model: Any, optimizer: Any) -> None:
    model[0].weight.register_hook(lambda g: g * 3)
    model[3].register_forward_hook(lambda module, args, out: out * 2)


CHANGES: dict[str, tuple[Any, int]] = {
    "nothing": (lambda m, o: None, 1),
    "evaluation": (lambda m, o: m.eval(), 2),
    "a module's setting": (lambda m, o: setattr(m[1], "p", 0.8), 2),
    "a frozen parameter": (lambda m, o: m[0].weight.requires_grad_(False), 2),
    "a parameter's memory": (_other_memory, 2),
    "another layer": (_other_layer, 2),
    "states that are loaded": (_reload, 2),
    "hooks": (_hook, 2),
    "a learning rate": (lambda m, o: o.param_groups[0].update(lr=0.01), 1),
    "weight decay": (lambda m, o: o.param_groups[0].update(weight_decay=0.1), 2),
    "another group": (
        lambda m, o: o.add_param_group({"params": [torch.ones(2, requires_grad=True)]}),
        2,
    ),
    "states that are cleared": (lambda m, o: o.state.clear(), 2),
    "a state of another tensor": (
        lambda m, o: o.state[m[0].weight].update(exp_avg=o.state[m[0].weight]["exp_avg"] * 3),
        2,
    ),
    "a state made anew": (lambda m, o: o.state.__setitem__(m[0].weight, {}), 2),
    "maximize": (lambda m, o: o.param_groups[0].update(maximize=True), 2),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_between_calls(name: str) -> None:
    change, records = CHANGES[name]
    assert changing(change).records == records


@pytest.mark.parametrize("to_none", [True, False])
def test_accumulation(to_none: bool) -> None:
    """Gradients are cleared outside, every fourth call."""

    def make() -> Any:
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x = torch.randn(5, 3)
        count = iter(range(100))

        def step() -> Any:
            loss = model(x).square().mean()
            loss.backward()
            return loss

        def seen() -> Any:
            gradients = [p.grad.clone() for p in model.parameters()]
            if next(count) % 4 == 3:
                optimizer.step()
                optimizer.zero_grad(set_to_none=to_none)
            return [gradients, list(model.parameters())]

        return step, seen

    assert lockstep(make, 40, bound=100).records <= 4
