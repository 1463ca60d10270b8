"""Every optimizer takes PyTorch's steps: 200 of them, in float32 and float64, over its options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.optim.runs import ENGINES, arrays, assert_close, engine, parameters, tolerance, train
from tests.optim.table import ELEMENTWISE, MUON, OPTIMIZERS, label

STEPS = 200


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", OPTIMIZERS, ids=label)
def test_trajectory(row: tuple[str, dict[str, Any]], dtype: str) -> None:
    # L-BFGS divides differences of gradients: what it can tell ends with the gradient's digits.
    steps = 10 if row[0] == "LBFGS" else STEPS
    (_, expected, losses), (optimizer, found, own) = (
        train(engine(e), *row, dtype, steps) for e in ENGINES
    )
    rtol = tolerance(dtype, STEPS)
    assert_close(arrays(found), arrays(expected), rtol, "parameters")
    assert_close(own, losses, rtol, "losses")
    assert abs(own[-1] - own[0]) > 1e-3, "the run moved: the comparison is of something"
    assert optimizer.param_groups[0]["lr"] == row[1].get("lr", 1)


@pytest.mark.parametrize("row", MUON, ids=label)
def test_muon(row: tuple[str, dict[str, Any]]) -> None:
    (_, expected, _), (_, found, _) = (train(engine(e), *row, "float32", 20) for e in ENGINES)
    # A bfloat16 rounding of an update of size lr, at each of 20 steps.
    assert_close(arrays(found), arrays(expected), 20 * 0.02 * 2.0**-8)


@pytest.mark.parametrize("row", ELEMENTWISE, ids=label)
def test_complex_parameters(row: tuple[str, dict[str, Any]]) -> None:
    options = {k: v for k, v in row[1].items() if k != "fused"}  # which PyTorch refuses
    runs = (train(engine(e), row[0], options, "complex128", 30) for e in ENGINES)
    (_, expected, _), (_, found, _) = runs
    assert_close(arrays(found), arrays(expected), tolerance("complex128", 30))


@pytest.mark.parametrize("row", ELEMENTWISE, ids=label)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision(row: tuple[str, dict[str, Any]], dtype: str) -> None:
    """Gradients are given, so that all that is compared is the rounding of the updates."""
    options = {k: v for k, v in row[1].items() if k not in ("fused", "foreach")}
    # PyTorch's kernels for lists of tensors round in other places than its plain ones.
    results = []
    for name in ENGINES:
        torch = engine(name)
        rng = np.random.default_rng(0)
        kind = getattr(torch, dtype)
        p = torch.tensor(rng.standard_normal(1000)).to(kind).requires_grad_()
        optimizer = getattr(torch.optim, row[0])([p], **options)
        for _ in range(10):
            p.grad = torch.tensor(rng.standard_normal(1000)).to(kind)
            optimizer.step()
        results.append(p.detach().double().numpy())
    expected, found = results
    both = np.isclose(found, expected, rtol=0, atol=0, equal_nan=True)
    # The same roundings in the same places; a fused multiply-add now and then tips a tie.
    assert np.mean(both) > 0.99
    np.testing.assert_allclose(found, expected, rtol=0.02, atol=0.02)


def test_large_and_small_parameters() -> None:
    """Shapes on either side of what is laid end to end, cut into blocks, and done by threads."""
    shapes = ((3,), (90, 100), (), (0,), (700, 400), (129, 1031))
    results = []
    for name in ENGINES:
        torch = engine(name)
        params = parameters(torch, "float32", shapes)
        optimizer = torch.optim.Adam(params, lr=0.01, weight_decay=0.1, amsgrad=True)
        for _ in range(5):
            optimizer.zero_grad()
            sum((torch.sin(p * 2)).sum() for p in params).backward()
            optimizer.step()
        results.append(arrays(params))
    assert_close(results[1], results[0], tolerance("float32", 5))
