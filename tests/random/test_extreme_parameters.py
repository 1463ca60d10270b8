"""Parameters at the ends of what a dtype holds: the numbers of PyTorch, or infinity, and always an end."""

from __future__ import annotations

import math
from typing import Any

import pytest

import tautograd
from tests.both import same

VALUES = (
    *(0.0, 1e-42, -1e-42, 1e-310, -1e-310, 5e-324, -1e-20, -2 / 3, -5.0, 1e30, 1e308),
    *(math.inf, math.nan),
)
STDS = ["torch.tensor(0, dtype=torch.uint8)", "0", "0.0", "1", "torch.tensor(1.0)"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@same
def test_gamma_and_dirichlet(torch: Any, dtype: str) -> Any:
    kind = getattr(torch, dtype)
    torch.manual_seed(3)
    found = [
        torch._standard_gamma(torch.full((4,), value, dtype=torch.float64).to(kind))
        for value in VALUES
    ]
    for value in VALUES:
        found += [
            torch._sample_dirichlet(torch.tensor([value, w], dtype=torch.float64).to(kind))
            for w in VALUES
        ]
    return [*found, torch.rand(2)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@same
def test_binomial(torch: Any, dtype: str) -> Any:
    kind = getattr(torch, dtype)
    torch.manual_seed(3)
    counts = (0.0, 5.0, 50.0, 1e10, 3e38, math.inf)
    full = [
        [torch.full((4,), n, dtype=torch.float64).to(kind) for n in (c, v)]
        for c in counts
        for v in VALUES
    ]
    return [*(torch.binomial(*each) for each in full), torch.rand(2)]


def test_nan_trials_end() -> None:
    """PyTorch's loop over them does not."""
    trials = tautograd.full((3,), math.nan)
    found = tautograd.binomial(trials, tautograd.tensor([0.3, 0.0, 1.0]))
    assert found.isnan().tolist() == [True, False, True]


@pytest.mark.parametrize("std", STDS)
@pytest.mark.parametrize("dtype", ["float32", "int16"])
@same
def test_a_truncated_normal_without_width(torch: Any, dtype: str, std: str) -> Any:
    torch.manual_seed(0)
    filled = torch.zeros(3, dtype=getattr(torch, dtype))
    try:
        return torch.nn.init.trunc_normal_(filled, 0, eval(std, {"torch": torch}), 0.1, 1.0)
    except Exception as error:
        return type(error).__name__
