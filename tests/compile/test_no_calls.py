"""Steps of common layers and losses become machine code as a whole: nothing of them is called from Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tautograd as torch

F = torch.nn.functional

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "mse_loss": F.mse_loss,
    "smooth_l1_loss": F.smooth_l1_loss,
    "huber_loss": lambda x, y: F.huber_loss(x, y, delta=0.7),
    "binary_cross_entropy_with_logits": lambda x, y: F.binary_cross_entropy_with_logits(
        x, y.sigmoid()
    ),
    "cross_entropy": F.cross_entropy,
    "clamp": lambda x, y: (x - y).clamp(-0.5, 0.5).sum(),
    "layer_norm": lambda x, y: (F.layer_norm(x, (8,)) * y).sum(),
    "softmax": lambda x, y: (x.softmax(-1) * y).sum(),
    "gelu": lambda x, y: (F.gelu(x) * y).sum(),
    "normalize": lambda x, y: (F.normalize(x) * y).sum(),
    "attention": lambda x, y: F.scaled_dot_product_attention(x, y, y, is_causal=True).sum(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_of_it_is_machine_code(name: str) -> None:
    function = FUNCTIONS[name]
    torch.manual_seed(0)
    x, y = torch.randn(6, 8, requires_grad=True), torch.randn(6, 8)
    y = y.argmax(1) if name == "cross_entropy" else y

    def step(x: Any, y: Any) -> Any:
        x.grad = None
        loss = function(x, y)
        loss.backward()
        return loss

    compiled = torch.compile(step, backend="llvm")
    for _ in range(3):
        found = compiled(x, y)
    gradient = x.grad.clone()
    torch.testing.assert_close(found, step(x, y))
    torch.testing.assert_close(gradient, x.grad)
    kinds = [part["kind"] for part in compiled.explain().to_dict()["parts"]]
    assert kinds == ["native code"], kinds
