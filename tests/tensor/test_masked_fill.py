"""`masked_fill` of more elements than one block has: every mask, shape and dtype as PyTorch."""

from __future__ import annotations

import math

import pytest

from tests.both import same

SHAPES = [
    ((40_000,), (40_000,)),
    ((3, 50, 300), (50, 1)),
    ((3, 1, 300), (1, 50, 1)),
    ((1,), (70, 70)),
]


@pytest.mark.parametrize("value", [0, -1, 2.5, -math.inf, math.nan])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@same
def test_floats(torch, shapes, value):
    size, chosen = shapes
    x = torch.randn(size)
    mask = torch.rand(chosen) < 0.4
    return [x.masked_fill(mask, value), x.double().masked_fill(mask, value)]


@pytest.mark.parametrize(
    "name", ["float16", "bfloat16", "int64", "int32", "uint8", "bool", "complex64"]
)
@same
def test_dtypes(torch, name):
    x = torch.arange(5000).reshape(50, 100).remainder(7).to(getattr(torch, name))
    mask = torch.rand(50, 1) < 0.5
    filled = x.masked_fill(mask, 3)
    return [filled, filled.dtype, x]


@same
def test_layouts_and_in_place(torch):
    x, mask = torch.randn(60, 50), torch.rand(50, 60) < 0.5
    rows = x.t().masked_fill(mask, 7.0)
    steps = x[:, ::2].masked_fill(mask.t()[:, ::2], torch.tensor(4))
    apart = x.clone()
    apart[:, ::2].masked_fill_(mask.t()[:, ::2], -3.0)
    return [rows, rows.stride(), steps, steps.stride(), apart, x]


@same
def test_gradient(torch):
    x = torch.randn(70, 40, requires_grad=True)
    value = torch.tensor(2.0, requires_grad=True)
    mask = torch.rand(70, 40) < 0.5
    (x.masked_fill(mask, value).square()).sum().backward()
    return [x.grad, value.grad]
