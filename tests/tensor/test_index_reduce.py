"""`index_reduce`, and refusals of indexing functions, on both engines."""

from __future__ import annotations

from typing import Any

import pytest

from tests.both import same


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["prod", "mean", "amax", "amin"])
@same
def test_index_reduce(torch: Any, reduce: str, include_self: bool) -> Any:
    x = (torch.arange(6.0) + 1).reshape(3, 2).requires_grad_()
    source = (torch.arange(6.0).reshape(3, 2) + 2).requires_grad_()
    index = torch.tensor([0, 2, 0])
    out = x.index_reduce(0, index, source, reduce, include_self=include_self)
    (out * out).sum().backward()
    whole = torch.arange(6).reshape(3, 2)
    whole.index_reduce_(1, torch.tensor([0, 0]), whole + 2, reduce, include_self=include_self)
    return out.detach(), x.grad, source.grad, whole


REFUSED = {
    "index of two dimensions": lambda t, x: x.index_reduce(0, t.tensor([[0]]), x[:1], "prod"),
    "sum": lambda t, x: x.index_reduce(0, t.tensor([0]), x[:1], "sum"),
    "float index": lambda t, x: x.index_reduce(0, t.tensor([0.0]), x[:1], "prod"),
    "other dtype": lambda t, x: x.index_reduce(0, t.tensor([0]), x[:1].double(), "prod"),
    "other count": lambda t, x: x.index_reduce(0, t.tensor([0]), x[:2], "prod"),
    "other shape": lambda t, x: x.index_reduce(0, t.tensor([0]), x[:1, :1], "prod"),
    "beyond": lambda t, x: x.index_reduce(0, t.tensor([5]), x[:1], "prod"),
    "complex fill": lambda t, x: x.index_fill(0, t.tensor([0]), 1j),
    "float places": lambda t, x: t.take_along_dim(x, t.ones(3, 2), 0),
    "turned beyond": lambda t, x: x.rot90(1, [0, 2]),
    "turned in one dimension": lambda t, x: x.rot90(1, [0, -2]),
    "shapes of numbers": lambda t, x: t.broadcast_shapes(1.5),
}


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("case", REFUSED)
@same
def test_refusals(torch: Any, case: str) -> Any:
    with pytest.raises((RuntimeError, IndexError)) as found:
        REFUSED[case](torch, torch.ones(3, 2))
    return found.type, str(found.value)
