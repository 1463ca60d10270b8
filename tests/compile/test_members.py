"""Modules, parameters and buffers that come, go or are replaced between calls are noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tautograd as torch
from tautograd import nn

from .compare import assert_same, bits


class Holder(nn.Module):
    """A module that goes through whatever it holds."""

    def __init__(self) -> None:
        super().__init__()
        self.numbered = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
        self.sequence = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
        self.named = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)})
        self.one = nn.Linear(3, 3)
        self.register_buffer("scale", torch.ones(3))
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: Any) -> Any:
        for part in (*self.numbered, *self.named.values(), self.sequence, self.one):
            x = part(x)
        return x * self.scale.float() * self.weight


CHANGES: dict[str, Callable[[Any], Any]] = {
    "ModuleList.append": lambda m: m.numbered.append(nn.Tanh()),
    "ModuleList.insert": lambda m: m.numbered.insert(0, nn.Tanh()),
    "ModuleList.pop": lambda m: m.numbered.pop(0),
    "ModuleList.extend": lambda m: m.numbered.extend([nn.Tanh()]),
    "Sequential.append": lambda m: m.sequence.append(nn.Tanh()),
    "Sequential.insert": lambda m: m.sequence.insert(0, nn.Tanh()),
    "ModuleDict.__setitem__": lambda m: m.named.update({"a": nn.Tanh()}),
    "ModuleDict.pop": lambda m: m.named.pop("a"),
    "ModuleDict.clear": lambda m: m.named.clear(),
    "add_module": lambda m: m.add_module("one", nn.Tanh()),
    "register_buffer": lambda m: m.register_buffer("scale", torch.full((3,), 5.0)),
    "register_parameter": lambda m: m.register_parameter("weight", nn.Parameter(torch.zeros(3))),
    "a buffer of another dtype": lambda m: m._apply(lambda t: t if t.requires_grad else t.int()),
}


@pytest.mark.parametrize("name", CHANGES)
def test_members_that_change(name: str) -> None:
    torch.manual_seed(0)
    model = Holder()
    compiled = torch.compile(lambda x: model(x) + 1, backend="numpy")
    x = torch.randn(2, 3)
    for call in range(7):
        assert_same(bits(compiled(x)), bits(model(x) + 1), where=f"call {call}")
        if call == 3:
            assert compiled.explain().to_dict()["replays"]
            CHANGES[name](model)
    assert compiled.records == 2
