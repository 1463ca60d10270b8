"""Small models that the tests of modules share, made on whichever engine is given."""

from __future__ import annotations

import itertools
from typing import Any


def mlp(torch: Any, *sizes: int) -> Any:
    """Linear layers with ReLUs between them."""
    layers: list[Any] = []
    for inputs, outputs in itertools.pairwise(sizes):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def tied(torch: Any) -> Any:
    """A model that has one layer under two names, and one weight under two names."""

    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Linear(3, 3)
            self.again = self.first
            self.last = torch.nn.Linear(3, 3)
            self.last.weight = self.first.weight

        def forward(self, x: Any) -> Any:
            return self.last(self.again(self.first(x)))

    return Tied()


def counting(torch: Any) -> Any:
    """A model with parameters, buffers of both kinds, a plain attribute, and an empty place."""

    class Counting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
            self.register_parameter("nothing", None)
            self.register_buffer("calls", torch.tensor(0))
            self.register_buffer("passing", torch.zeros(2), persistent=False)
            self.register_buffer("no_buffer", None)
            self.marked = torch.nn.Buffer(torch.ones(1))
            self.inner = torch.nn.Linear(2, 2)
            self.empty = None
            self.register_module("absent", None)
            self.note = "plain"

        def forward(self, x: Any) -> Any:
            self.calls += 1
            return self.inner(x * self.scale)

    return Counting()


def gradients(model: Any) -> dict[str, Any]:
    """The gradient of each parameter, by name."""
    return {name: param.grad for name, param in model.named_parameters()}
