"""Elementwise functions that keep zero, and gradients checked through sparse inputs; on both engines."""

from __future__ import annotations

from typing import Any

import pytest

from tests.both import same

FUNCTIONS = ("erf", "erfinv", "isneginf", "isposinf", "sgn", "sign", "signbit")


def _inputs(torch: Any) -> Any:
    dense = torch.tensor(
        [[0.0, 1.0, -2.0], [0.5, 0.0, float("nan")], [float("-inf"), 0.0, float("inf")]]
    )
    whole = torch.tensor([[0, 1, -2], [3, 0, 0]])
    twice = torch.sparse_coo_tensor(
        torch.tensor([[0, 0, 1], [1, 1, 0]]), torch.tensor([2.0, -5.0, 0.25]), (2, 3)
    )
    return (
        dense.to_sparse(), dense.to_sparse_csr(), dense.to_sparse_csc(), whole.to_sparse(), twice,
        torch.zeros(2, 3).to_sparse(), torch.stack([dense, dense]).to_sparse(2),
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("name", FUNCTIONS)
@same
def test_what_is_held_is_computed(torch: Any, name: str) -> Any:
    found = []
    for x in _inputs(torch):
        if name.endswith("inf") and not x.is_floating_point():
            continue
        y = getattr(torch, name)(x)
        found.append((str(y.layout), str(y.dtype), y.to_dense()))
    return found


def _layouts(torch: Any, x: Any) -> Any:
    return [make().requires_grad_() for make in (x.to_sparse, x.to_sparse_csr, x.to_sparse_csc)]


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@same
def test_gradients_checked(torch: Any, masked: bool, fast: bool) -> Any:
    check = torch.autograd.gradcheck
    dense = torch.tensor([[0.0, 1.0, -2.0], [0.5, 0.0, 0.0]], dtype=torch.float64)
    other = torch.arange(6.0, dtype=torch.float64).view(3, 2).requires_grad_()
    options = {"masked": masked, "fast_mode": fast}
    found: list[Any] = [
        check(lambda x: x.to_dense(masked_grad=masked), (x,), **options)
        for x in _layouts(torch, dense)
    ]
    hybrid = torch.stack([dense, dense]).to_sparse(2).requires_grad_()
    found.append(check(lambda x: x.to_dense(masked_grad=masked), (hybrid,), **options))
    (coo, *_) = _layouts(torch, dense)
    if masked:
        found.append(check(torch.sparse.mm, (coo, other), **options))
        found.append(check(torch.sparse.sum, (coo,), **options))
    try:
        check(lambda x: x * 2, (coo,), **options)
    except ValueError as error:
        found.append(str(error))
    return found


@pytest.mark.parametrize("masked", [False, True])
@same
def test_a_wrong_gradient_is_found(torch: Any, masked: bool) -> Any:
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.to_dense()

        @staticmethod
        def backward(ctx, g):
            return (g * 2).to_sparse()

    x = torch.tensor([[0.0, 1.0], [3.0, 0.0]], dtype=torch.float64).to_sparse().requires_grad_()
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(Wrong.apply, (x,), masked=masked)
    return True


@same
def test_second_order_through_what_is_held(torch: Any) -> Any:
    x = torch.tensor([[0.0, 1.0], [3.0, 0.0]], dtype=torch.float64).to_sparse().requires_grad_()
    y = torch.ones(2, 2, dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradcheck(lambda x, y: (x.to_dense() ** 3) @ y, (x, y), masked=True)
