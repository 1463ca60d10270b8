"""Kernels for LSTM and GRU: as near to float64 as NumPy's way is, for values and for gradients."""

from __future__ import annotations

import numpy as np
import pytest

import tautograd as torch
from tautograd._ops.nn.recurrent import native_steps
from tests.eager_kernels.ways import DTYPES, UNIT, using_kernels


@pytest.fixture(autouse=True)
def also_short_ones(monkeypatch):
    monkeypatch.setattr(native_steps, "_WORTH_IT", 0)


CASES = [
    {"steps": 7, "batch": 5, "inputs": 3, "width": 6},
    {"steps": 1, "batch": 1, "inputs": 1, "width": 1},
    {"steps": 4, "batch": 19, "inputs": 5, "width": 33, "bidirectional": True},
    {"steps": 6, "batch": 3, "inputs": 4, "width": 16, "num_layers": 2, "bias": False},
    {"steps": 5, "batch": 4, "inputs": 4, "width": 17, "batch_first": True},
]


def _run(kind, case, dtype):
    """Outputs, final states and all gradients, from the same numbers in any dtype."""
    options = {k: v for k, v in case.items() if k not in ("steps", "batch", "inputs", "width")}
    torch.manual_seed(0)
    layer = getattr(torch.nn, kind)(case["inputs"], case["width"], **options)
    x = torch.randn(case["steps"], case["batch"], case["inputs"])
    if case.get("batch_first"):
        x = x.transpose(0, 1).contiguous()
    layer, x = layer.to(dtype), x.to(dtype).requires_grad_()
    out, state = layer(x)
    states = state if isinstance(state, tuple) else (state,)
    weights = torch.linspace(-1, 1, out.numel(), dtype=dtype).reshape(out.shape)
    ((out * weights).sum() + sum((s * s).sum() for s in states)).backward()
    tensors = [out, *states, x.grad, *(p.grad for p in layer.parameters())]
    return [t.detach().numpy().astype(np.float64) for t in tensors]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_against_float64(kind, case, dtype):
    """Off from float64 by no more than four times what NumPy's way is, and a few roundings of the largest."""
    dtype = np.dtype(dtype)
    with using_kernels(False):
        exact = _run(kind, case, torch.float64)
        by_numpy = _run(kind, case, getattr(torch, dtype.name))
    found = _run(kind, case, getattr(torch, dtype.name))
    for value, other, expected in zip(found, by_numpy, exact, strict=True):
        scale = np.abs(expected).max() + 1
        allowed = 4 * np.abs(other - expected).max() + 64 * UNIT[dtype] * scale
        assert np.abs(value - expected).max() <= allowed


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_infinite_and_missing_numbers(kind):
    torch.manual_seed(0)
    layer, x = getattr(torch.nn, kind)(4, 8), torch.randn(5, 3, 4)
    x[2, 1, 0], x[3, 0, 1] = float("nan"), float("inf")
    seen = []
    for on in (True, False):
        with using_kernels(on):
            seen.append(layer(x)[0].detach().numpy())
    assert np.array_equal(np.isnan(seen[0]), np.isnan(seen[1]))
    assert np.isfinite(seen[0][:, 2]).all()


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_second_order_and_other_arrays(kind):
    """Where a rule is differentiated, mapped or recorded, no kernel stands in its way."""
    torch.manual_seed(0)
    layer, x = getattr(torch.nn, kind)(3, 4).double(), torch.randn(4, 2, 3, dtype=torch.float64)

    def loss(x):
        return layer(x)[0].square().sum()

    assert torch.autograd.gradgradcheck(loss, (x.clone().requires_grad_(),))
    mapped = torch.func.vmap(lambda x: layer(x)[0])(torch.stack([x, 2 * x]))
    assert torch.allclose(mapped[1], layer(2 * x)[0])
