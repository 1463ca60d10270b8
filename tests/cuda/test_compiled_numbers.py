"""Python numbers that change, and values that Python asks for, in programs on a stand-in for a GPU."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd.nn import functional as F

from .test_compiled import gpu

__all__ = ["gpu"]


def outcome(run: Any, *numbers: float) -> Any:
    torch.manual_seed(3)
    x = torch.linspace(-1, 1, 12).reshape(3, 4).to("cuda").requires_grad_()
    result = run(x, *numbers)
    if result.requires_grad:
        result.sum().backward()
    grad = np.zeros(1) if x.grad is None else x.grad.cpu().numpy()
    return result.detach().cpu().numpy(), grad


RUNS: dict[str, Any] = {
    "weight": lambda x, a: (x * a).tanh() + a * x.mean(),
    "branch": lambda x, a: x * a if a > 0.5 else x - 1 / (a + 1),
    "dropout": lambda x, a: F.dropout(x, a).sum(),
    "tensor": lambda x, a: x * torch.tensor(a, device="cuda"),
    "filled": lambda x, a: torch.full_like(x, a) * x + x.masked_fill(x > 0, a),
}


@pytest.mark.parametrize("name", RUNS)
def test_numbers_that_change(name: str) -> None:
    compiled = torch.compile(RUNS[name])
    for i in range(8):
        a = 0.05 + (i * 7 % 10) / 11
        for found, expected in zip(outcome(compiled, a), outcome(RUNS[name], a), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert compiled.records <= 2


def test_a_value_that_is_asked_for_is_no_place_to_split() -> None:
    """On a GPU such a function runs eagerly."""

    def run(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x - x.mean().item()

    compiled = torch.compile(run, fallback=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(4):
            for found, expected in zip(outcome(compiled), outcome(run), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
