"""A user's program with types: `test_types` has it checked, strictly, and runs it."""

from __future__ import annotations

import tautograd as torch
from tautograd import Tensor, autograd
from tautograd.func import grad, vmap
from tautograd.nn import functional as F


def model(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    hidden = torch.tanh(x @ weight + bias)
    return F.softplus(hidden).sum(dim=-1)


def train(steps: int) -> float:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(8, 3, generator=generator, dtype=torch.float64)
    weight = torch.zeros((3, 2), dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    last = 0.0
    for _ in range(steps):
        loss: Tensor = (model(x, weight, bias) - 1).square().mean()
        loss.backward()
        with torch.no_grad():
            for parameter in (weight, bias):
                assert parameter.grad is not None
                parameter -= 0.1 * parameter.grad
                parameter.grad = None
        last = float(loss)
    return last


def shapes(x: Tensor) -> tuple[int, torch.Size, torch.dtype]:
    rows: int = x.size(0)
    flat: Tensor = x.reshape(-1).view(x.shape).permute(1, 0).contiguous().to(torch.float32)
    first, rest = flat.split([1, flat.shape[0] - 1])
    joined: Tensor = torch.cat([first, rest], dim=0)
    assert joined[0, :1].clone().numel() == 1
    return rows, joined.shape, joined.dtype


def named_results(x: Tensor) -> Tensor:
    values, indices = x.max(dim=1)
    largest: Tensor = torch.sort(x, descending=True).values
    decomposition = torch.linalg.svd(x, full_matrices=False)
    again: Tensor = decomposition.U @ torch.diag(decomposition.S) @ decomposition.Vh
    out = torch.empty(0, dtype=x.dtype)
    torch.add(x, 1, out=out)
    return values + indices + largest[:, 0] + again.amax(1) + out.std(dim=1, correction=0)


class Square(autograd.Function):
    @staticmethod
    def forward(ctx: autograd.function.FunctionCtx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x


def transforms(x: Tensor) -> tuple[Tensor, ...]:
    slope: Tensor = vmap(grad(torch.sin))(x)
    (direct,) = autograd.grad(x.sin().sum(), x)
    assert torch.allclose(slope, direct)
    assert isinstance(torch.special.erf(x).item() if x.numel() == 1 else 0.0, float)
    return (slope, direct)


if __name__ == "__main__":
    assert 0 < train(5) < 1
    shapes(torch.arange(6.0).reshape(2, 3))
    named_results(torch.eye(3))
    transforms(torch.rand(4, requires_grad=True))
