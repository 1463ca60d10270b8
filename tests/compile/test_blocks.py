"""Convolutions that are products go through a compiled step example by example: as eager, on one thread and on two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd._compile.program.ir import Block

EXAMPLES = 9  # an odd number: two threads get unequal shares


def _model() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, 3)),  # volumes: no kernel convolves those, products do
        torch.nn.Conv3d(1, 8, (1, 3, 3)),
        torch.nn.ReLU(),
        torch.nn.Conv3d(8, 8, 3, stride=2),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * 23 * 23, 4),
    )


def _step(model: Any) -> Any:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


@pytest.mark.parametrize("threads", [1, 2])
def test_examples_one_by_one(threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        x, y = torch.randn(EXAMPLES, 3, 50, 50), torch.arange(EXAMPLES) % 4
        plain, compiled = _model(), _model()
        eager, replayed = _step(plain), torch.compile(_step(compiled))
        for _ in range(8):
            want, have = eager(x, y), replayed(x, y)
            assert abs(want.item() - have.item()) <= 1e-5 * abs(want.item())
        for p, q in zip(plain.parameters(), compiled.parameters(), strict=True):
            scale = float(np.abs(p.grad.numpy()).max())
            assert np.allclose(p.grad.numpy(), q.grad.numpy(), 1e-4, 1e-5 * scale)
            assert np.allclose(p.detach().numpy(), q.detach().numpy(), 1e-4, 1e-6)
    finally:
        torch.set_num_threads(before)
    program = replayed._last.replay_of.program
    blocks = [i for i in program.instructions if isinstance(i, Block)]
    assert blocks
    assert all(block.count == EXAMPLES for block in blocks)
    assert any(block.sums for block in blocks)  # a weight's gradient is added up in place
