"""Dataclasses as arguments and as results."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import tautograd as torch
from tautograd import nn, optim
from tautograd._compile.messages.errors import CompileError

from .compare import assert_same, bits, seen_of

SCALE = 2.0


@dataclasses.dataclass
class Batch:
    x: Any
    y: Any
    weight: float = 1.0

    def scaled(self) -> Any:
        return self.x * SCALE


@dataclasses.dataclass(frozen=True)
class Output:
    loss: Any
    parts: dict[str, Any]
    note: str = "training"


def training(backend: str | None) -> Any:
    """Steps with a new batch each; what they give, and what they leave."""
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(batch: Batch) -> Output:
        optimizer.zero_grad()
        out = model(batch.scaled())
        loss = (out - batch.y).pow(2).mean() * batch.weight
        loss.backward()
        optimizer.step()
        return Output(loss.detach(), {"out": [out.detach()], "x": batch.x})

    compiled = step if backend is None else torch.compile(step, backend=backend)
    found = []
    for call in range(8):
        batch = Batch(torch.randn(4, 3), torch.randn(4, 2), weight=1.0 if call < 6 else 0.5)
        output = compiled(batch)
        assert type(output) is Output
        assert output.parts["x"] is batch.x
        shown = [output.loss, output.parts, output.note]
        found.append(bits([shown, seen_of(model, optimizer)]))
    return found, compiled


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_a_step_from_a_dataclass_to_a_dataclass(backend: str) -> None:
    expected, _ = training(None)
    found, compiled = training(backend)
    assert_same(found, expected, 0.0 if backend == "numpy" else 64.0)
    assert compiled.records == 2  # one for each weight
    assert compiled.explain().to_dict()["replays"] == 0


def test_results_go_backward_through_a_dataclass() -> None:
    weight = torch.ones(3, requires_grad=True)
    compiled = torch.compile(lambda x: Output((weight * x).sum(), {}), backend="numpy")
    for call in range(5):
        weight.grad = None
        compiled(torch.full((3,), float(call))).loss.backward()
        assert weight.grad is not None
        assert weight.grad.tolist() == [float(call)] * 3
    assert compiled.records == 1


def test_what_a_method_of_it_reads_is_noticed_when_it_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled = torch.compile(lambda batch: batch.scaled(), backend="numpy")
    for call in range(8):
        if call == 4:
            monkeypatch.setitem(globals(), "SCALE", 3.0)
        found = compiled(Batch(torch.ones(2), None))
        assert found.tolist() == [3.0 if call >= 4 else 2.0] * 2


def test_a_dataclass_that_is_changed_is_refused() -> None:
    def run(batch: Batch) -> Any:
        batch.weight += 1
        return batch.x * 2

    compiled = torch.compile(run, backend="numpy")
    compiled(Batch(torch.ones(2), None))
    with pytest.raises(CompileError, match="among the arguments"):
        compiled(Batch(torch.ones(2), None))
