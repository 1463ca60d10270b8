"""Small computations whose graphs are known; each takes the engine and gives the loss."""

# ruff: noqa: RET504  (a line that assigns names its result)

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

EXAMPLES = str(Path(__file__).resolve().parents[2] / "examples")


def square(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    return y


def linear_step(torch: Any) -> Any:
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    x, target = torch.randn(4, 3), torch.randn(4, 1)
    out = model(x)
    loss = torch.nn.functional.mse_loss(out, target)
    return loss


def shared_input(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    bias = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    h = (x * x + bias).tanh()
    loss = (h * x).sum() - bias.sin() * bias
    return loss


def detached(torch: Any) -> Any:
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    scale = x.detach().norm()
    loss = (x * scale).sum()
    return loss


def without_grad(torch: Any) -> Any:
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    with torch.no_grad():
        scale = x * 2
    loss = (x * scale).sum()
    return loss


def left_by_item(torch: Any) -> Any:
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    total = x.sum()
    number = total.item()
    loss = total * number
    return loss


def in_place(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.mul_(2)
    y[0] = 5.0
    loss = y.sum()
    return loss


def several_outputs(torch: Any) -> Any:
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    first, second = x.unbind(0)
    loss = (first * second).sum() + first.sum()
    return loss


def custom(torch: Any) -> Any:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 3 * x * x

    x = torch.tensor(2.0, requires_grad=True)
    y = Cube.apply(x)
    loss = y * 2
    return loss


def broadcast(torch: Any) -> Any:
    torch.manual_seed(1)
    w = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    b = torch.randn(3, dtype=torch.float64, requires_grad=True)
    s = torch.randn(1, dtype=torch.float64, requires_grad=True)
    loss = ((w + b) * s).pow(2).mean()
    return loss


def gpt(torch: Any, layers: int = 2) -> Any:
    """The model of `examples/char_gpt.py`, small."""
    names = [n for n in sys.modules if n == "char_gpt" or n == "torch" or n.startswith("torch.")]
    kept = {name: sys.modules.pop(name) for name in names}
    try:
        if torch.__name__ == "torch":
            sys.modules.update({k: v for k, v in kept.items() if k != "char_gpt"})
        else:
            for name in ("", ".nn", ".nn.functional"):
                sys.modules[f"torch{name}"] = importlib.import_module(f"tautograd{name}")
        sys.path.insert(0, EXAMPLES)
        example = importlib.import_module("char_gpt")
    finally:
        sys.path.remove(EXAMPLES)
        for name in [
            n for n in sys.modules if n in ("char_gpt", "shared") or n.startswith("torch")
        ]:
            if name == "torch" or name.startswith("torch.") or name in ("char_gpt", "shared"):
                del sys.modules[name]
        sys.modules.update({k: v for k, v in kept.items() if k != "char_gpt"})
    torch.manual_seed(0)
    model = example.GPT(20, 8, 16, 4, layers)
    data = torch.randint(20, (100,))
    return example.loss_of(model, data, torch.tensor([1, 5]))


def tower(torch: Any) -> Any:
    """A chain of layers in one module: taller than a glance."""

    class Tower(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList([torch.nn.Linear(3, 3) for _ in range(8)])

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = torch.sigmoid(layer(x))
            return x

    return Tower()(torch.ones(2, 3)).sum()


def saturated(torch: Any) -> Any:
    """Three activations that have come to their ends, and one that has not."""
    x = torch.linspace(-1.0, 1.0, 12).reshape(4, 3).requires_grad_()
    gate = torch.sigmoid(x * 40 + 60)
    bend = torch.tanh(x)
    flat = torch.tanh(x * 50)
    dead = torch.relu(x - 4)
    loss = (gate * bend + flat + dead).sum()
    return loss


def attention(torch: Any) -> Any:
    """One head in plain operations, three queries that look at five keys; and softmax of scores far apart."""
    torch.manual_seed(0)
    query = torch.randn(3, 4, requires_grad=True)
    key = torch.randn(5, 4, requires_grad=True)
    value = torch.randn(5, 4, requires_grad=True)
    weights = torch.softmax(query @ key.transpose(0, 1) / 2, -1)
    hard = torch.softmax(query @ key.transpose(0, 1) * 300, -1)
    loss = (weights @ value).pow(2).mean() + (hard @ value).sum()
    return loss


PROGRAMS = {
    f.__name__: f
    for f in (
        *(square, linear_step, shared_input, detached, without_grad, left_by_item, in_place),
        *(several_outputs, custom, broadcast, gpt),
    )
}
