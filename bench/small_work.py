"""Workloads small enough to show the engine's own overhead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.steps import Work


def _scalar_lesson(torch: Any) -> Work:
    def lesson() -> object:
        x = torch.tensor(3.0, requires_grad=True)
        y = x**2
        y.backward()
        return x.grad

    return lesson


def _one_recorded_op(torch: Any) -> Work:
    a = torch.ones(32, 32, requires_grad=True)
    b = torch.ones(32, 32, requires_grad=True)
    return lambda: a + b


def checked_function(torch: Any) -> tuple[Callable[[Any], Any], Any]:
    """A function of 512 parameters in float64."""
    torch.manual_seed(0)
    inputs = torch.randn(8, 16, dtype=torch.float64)
    weights = torch.randn(16, 32, dtype=torch.float64, requires_grad=True)
    return lambda w: (inputs @ w).tanh().square().mean(), weights


def _gradient_check(torch: Any) -> Work:
    loss, weights = checked_function(torch)
    return lambda: torch.autograd.gradcheck(loss, (weights,))


SMALL: dict[str, Callable[[Any], Work]] = {
    "scalar": _scalar_lesson,
    "op": _one_recorded_op,
    "gradcheck": _gradient_check,
}
