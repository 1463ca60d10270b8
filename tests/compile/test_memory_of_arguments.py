"""Arguments that are, or share memory with, tensors that the function reaches otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd import nn, optim

from .compare import assert_same, bits, seen_of


class World:
    """A model with gradients, an optimizer, and functions that use them and an argument."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = nn.Linear(3, 3, bias=False)
        self.optimizer = optim.SGD(self.model.parameters(), lr=0.1)
        self.other = nn.Parameter(torch.ones(3, 3))
        self.array = np.ones((4, 3), np.float32)
        self.shared = torch.from_numpy(self.array[:3])

    def step(self, x: Any) -> Any:
        """Changes the weight, then reads the argument."""
        self.optimizer.zero_grad()
        self.model(torch.ones(1, 3)).sum().backward()
        self.optimizer.step()
        return x * 2

    def gradient(self, x: Any) -> Any:
        self.model.zero_grad()
        self.model(x.detach()).tanh().sum().backward()
        return x + 1

    def accumulated(self, x: Any) -> Any:
        self.model(x.detach()).tanh().sum().backward()
        return x + 1

    def product(self, x: Any) -> Any:
        loss = (x * self.model.weight * 2).sum()
        loss.backward()
        return loss

    def written(self, x: Any) -> Any:
        with torch.no_grad():
            x.mul_(0.5)
        return self.model(torch.ones(1, 3))

    def counted(self, x: Any) -> Any:
        self.shared.add_(1)
        return x * 2

    def assigned(self, x: Any) -> Any:
        x.grad = x.detach() * 2
        return x.sum()


def fresh(world: World) -> Any:
    return torch.ones(3, 3)


def leaf(world: World) -> Any:
    return torch.ones(3, 3, requires_grad=True)


Argument = Callable[[World], Any]
ROWS: dict[str, tuple[str, Argument, Argument]] = {
    "a detached parameter": ("step", fresh, lambda w: w.model.weight.detach()),
    "a gradient": ("gradient", fresh, lambda w: w.model.weight.grad),
    "a gradient that grows": ("accumulated", fresh, lambda w: w.model.weight.grad),
    "a parameter": ("product", lambda w: w.other, lambda w: w.model.weight),
    "a parameter that is written": ("written", fresh, lambda w: w.model.weight.detach()),
    "a NumPy array, in part": ("counted", fresh, lambda w: torch.from_numpy(w.array[1:])),
    "a view of a NumPy array": ("counted", fresh, lambda w: torch.from_numpy(w.array[:3])),
    "a gradient that is set": ("assigned", leaf, leaf),
}


@pytest.mark.filterwarnings("ignore:.*is not compiled")
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("first", [0, 1], ids=["apart first", "shared first"])
@pytest.mark.parametrize("name", ROWS)
def test_an_argument_in_memory_from_outside(name: str, first: int, backend: str) -> None:
    """Calls with an argument of its own and with a shared one, in both orders."""
    method, *arguments = ROWS[name]
    plain, other = World(), World()
    step = getattr(plain, method)
    compiled = torch.compile(getattr(other, method), backend=backend, fallback=True)
    for world in (plain, other):  # so that there are gradients
        world.accumulated(torch.ones(3, 3))
    for call, which in enumerate([first] * 4 + [1 - first, first] * 4):
        x, y = arguments[which](plain), arguments[which](other)
        expected, found = step(x), compiled(y)
        state = [[seen_of(w.model), w.array, w.other.grad, a.grad if a.is_leaf else None]
                 for w, a in ((other, y), (plain, x))]  # fmt: skip
        bound = 0.0 if backend == "numpy" else 32.0
        assert_same(bits([found, *state[0]]), bits([expected, *state[1]]), bound, f"call {call}")
    assert compiled.records or name == "a NumPy array, in part"


def test_two_written_views_of_one_tensor_count_one_version_each() -> None:
    def run(a: Any, b: Any) -> Any:
        a.mul_(2)
        return b + 1

    compiled = torch.compile(run, backend="numpy")
    for _ in range(5):
        whole = torch.arange(6.0)
        compiled(whole[:3], whole[3:])
        assert whole._version == 1
