"""The doctor and verify on compiled functions: the same bugs are found, and the compiled gradient is proved."""

from __future__ import annotations

from typing import Any

import pytest

import tautograd as torch
from tautograd import doctor, nn, verify
from tautograd._compile.run.differentiable import Differentiable

from .compare import training


def loop(bug: str, compiled: bool) -> Any:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    held = list(model[0].parameters()) if bug == "forgotten layer" else list(model.parameters())
    optimizer = torch.optim.SGD(held, lr=0.01)
    x, y = torch.randn(8, 3), torch.randn(8, 1)

    def loss_of() -> Any:
        return nn.functional.mse_loss(model(x), y)

    zero = (lambda: None) if bug == "accumulated" else None
    step, _ = training(model, optimizer, loss_of, zero=zero)
    if compiled:
        step = torch.compile(step, backend="numpy")
        for _ in range(3):
            step()
    with doctor() as report:
        for _ in range(20):
            step()
    return sorted((f.code, f.name, tuple(f.parameters)) for f in report.findings), report.steps


@pytest.mark.parametrize("bug", ["none", "accumulated", "forgotten layer"])
def test_the_doctor_finds_the_same_bugs(bug: str) -> None:
    plain, compiled = loop(bug, False), loop(bug, True)
    assert compiled == plain
    assert bool(plain[0]) == (bug != "none")


class WrongCube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * ctx.saved_tensors[0] ** 2 * g


def test_verify_proves_the_compiled_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.tensor([0.3, -1.2, 2.0], dtype=torch.float64, requires_grad=True)
    right = torch.compile(lambda x: (x**3).sum(), backend="numpy")
    assert verify(right, x).ok
    assert right.records
    assert not verify(torch.compile(lambda x: WrongCube.apply(x).sum(), backend="numpy"), x).ok

    backward = Differentiable.backward

    def wrong(self: Any, *args: Any) -> Any:
        return [g * 1.001 for g in backward(self, *args)]

    monkeypatch.setattr(Differentiable, "backward", wrong)
    assert not verify(torch.compile(lambda x: (x**3).sum(), backend="numpy"), x).ok
