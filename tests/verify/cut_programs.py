"""Small programs in which the graph is cut once: how, at which line (`# here`), and who starves."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from tests.verify.programs import leaf

Program = Callable[[Any], tuple[Callable[[], Any], dict[str, Any], str, list[str]]]

CUT: dict[str, Program] = {}


def program(fn: Program) -> Program:
    CUT[fn.__name__] = fn
    return fn


@program
def detached(torch):
    x, w = leaf(torch, 3), leaf(torch, 3, seed=2)

    def run():
        h = x * w
        h = h.detach() * w  # here
        return h.sum()

    return run, {"x": x, "w": w}, "detach()", ["x", "w"]


@program
def data(torch):
    x = leaf(torch, 3)

    def run():
        y = x.exp()
        return y + y.data * 2  # here

    return run, {"x": x}, ".data", ["x"]


@program
def item(torch):
    x = leaf(torch, 3)

    def run():
        norm = x.norm()
        return x / norm.item()  # here

    return run, {"x": x}, "item()", ["x"]


@program
def number(torch):
    x = leaf(torch, 3)

    def run():
        mean = float(x.mean())  # here
        return x - 2 * mean

    return run, {"x": x}, "float()", ["x"]


@program
def through_numpy(torch):
    x = leaf(torch, 3)
    numpy = importlib.import_module("numpy")

    def run():
        values = x.detach().numpy()  # here
        return x * torch.from_numpy(numpy.sin(values))

    return run, {"x": x}, "detach()", ["x"]


@program
def through_numpy_unrecorded(torch):
    x = leaf(torch, 3)

    def run():
        y = x * 2
        with torch.no_grad():
            values = y.numpy()  # here
        return x * torch.tensor(values)

    return run, {"x": x}, "numpy()", ["x"]


@program
def through_a_list(torch):
    x = leaf(torch, 3)

    def run():
        values = x.tolist()  # here
        return x * torch.tensor([v * v for v in values], dtype=torch.float64)

    return run, {"x": x}, "tolist()", ["x"]


@program
def new_tensor(torch):
    x, w = leaf(torch, 3), leaf(torch, 3, seed=2)

    def run():
        y = torch.tensor(x * 2)  # here
        return y * w

    return run, {"x": x, "w": w}, "torch.tensor()", ["x"]


@program
def unrecorded(torch):
    x, w = leaf(torch, 3), leaf(torch, 3, seed=2)

    def run():
        with torch.no_grad():
            gate = (x * 3).sigmoid()  # here
        return gate * w

    return run, {"x": x, "w": w}, "no_grad", ["x"]


@program
def unrecorded_by_decorator(torch):
    x = leaf(torch, 3)

    @torch.no_grad()
    def scale(h):
        return h.abs().max()  # here

    return lambda: x / scale(x), {"x": x}, "no_grad", ["x"]


@program
def written_unrecorded(torch):
    x = leaf(torch, 3)

    def run():
        y = x * 2
        with torch.no_grad():
            y.mul_(3)  # here
        return y.sum()

    return run, {"x": x}, "no_grad", ["x"]


@program
def written_through_data(torch):
    x = leaf(torch, 3)

    def run():
        y = x + 1
        y.data.mul_(3)  # here
        return y.sum()

    return run, {"x": x}, ".data", ["x"]


@program
def detached_in_place(torch):
    x, w = leaf(torch, 3), leaf(torch, 3, seed=2)

    def run():
        y = x.exp()
        y.detach_()  # here
        return y * w

    return run, {"x": x, "w": w}, "detach_()", ["x"]


@program
def deep_in_a_module(torch):
    class Gate(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(3, 3)

        def forward(self, x):
            return x * self.fc(x).detach().sigmoid()  # here

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(2, 3)
            self.blocks = torch.nn.ModuleList([Gate()])

        def forward(self, x):
            x = self.first(x)
            for block in self.blocks:
                x = block(x)
            return x

    torch.manual_seed(0)
    net = Net().double()
    x = torch.randn(4, 2, dtype=torch.float64)
    starved = ["first.weight", "first.bias", "blocks.0.fc.weight", "blocks.0.fc.bias"]
    return lambda: net(x), dict(net.named_parameters()), "detach()@blocks.0", starved


@program
def in_a_loop(torch):
    x = leaf(torch, 3)

    def run():
        h = x
        for _ in range(4):
            h = h + 0.1 * h.detach().sin()  # here
        return h

    return run, {"x": x}, "detach()", ["x"]


@program
def in_float32(torch):
    x, w = leaf(torch, 3, dtype="float32"), leaf(torch, 3, dtype="float32", seed=2)

    def run():
        h = (x * w).detach()  # here
        return (h * w).sum()

    return run, {"x": x, "w": w}, "detach()", ["x", "w"]


@program
def straight_through(torch):
    x = leaf(torch, 3)

    def run():
        y = x + (x.round() - x).detach()  # here
        return y * 2

    return run, {"x": x}, "detach()", ["x"]


@program
def rounded(torch):
    x, w = leaf(torch, 6), leaf(torch, 6, seed=2)

    def run():
        return (3 * x).round() * w  # here

    return run, {"x": x, "w": w}, "round", ["x"]


@program
def compared(torch):
    x, bound = leaf(torch, 6), leaf(torch, 6, seed=2)

    def run():
        kept = x > bound  # here
        return x * kept

    return run, {"x": x, "bound": bound}, "gt", ["bound"]


@program
def chosen(torch):
    scores, table = leaf(torch, 5), leaf(torch, 5, 2, seed=2)

    def run():
        best = scores.argmax()  # here
        return table[best] * 2

    return run, {"scores": scores, "table": table}, "argmax", ["scores"]
