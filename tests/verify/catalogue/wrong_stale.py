"""Values that an earlier call computed without a graph, and a later one uses as if they were constants."""

from __future__ import annotations

import functools

import numpy as np

from .rows import wrong_program
from .table import draw

KIND = "stale cache"


@wrong_program(KIND, "norm kept in a dictionary", "detach", cut=True, batch="fourth")
def _(torch):
    kept = {}

    def program(x):
        if "norm" not in kept:
            kept["norm"] = x.detach().norm()
        return x / kept["norm"]

    return program, draw(torch, 4)


@wrong_program(KIND, "mean kept by shape", "detach", cut=True, batch="fourth")
def _(torch):
    kept = {}

    def centre(x):
        if x.shape not in kept:
            kept[x.shape] = x.detach().mean(0)
        return kept[x.shape]

    return lambda x: (x - centre(x)).exp().sum(), draw(torch, 4, 3)


@wrong_program(KIND, "statistics in a default argument", "detach|item", cut=True, batch="fourth")
def _(torch):
    def program(x, kept=[]):  # noqa: B006
        if not kept:
            kept.append(x.std().item())
        return (x / kept[0]).tanh()

    return program, draw(torch, 5)


@wrong_program(KIND, "scale kept on the function", "detach", cut=True, batch="fourth")
def _(torch):
    def program(x):
        if program.scale is None:
            program.scale = x.abs().max().detach()
        return (x / program.scale).exp().sum()

    program.scale = None
    return program, draw(torch, 4)


@wrong_program(KIND, "kernel behind lru_cache", "detach|no_grad", cut=True, batch="fourth")
def _(torch):
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(draw(torch, 3).detach())

        @functools.lru_cache  # noqa: B019
        def kernel(self, times):
            with torch.no_grad():
                return torch.softmax(self.w, 0).repeat(times)

        def forward(self, x):
            return (x * self.kernel(2)).sum() + (self.w * self.w).sum()

    return Layer(), draw(torch, 6)


@wrong_program(KIND, "module keeps its weight normalised", "detach", cut=True, batch="fourth")
def _(torch):
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(draw(torch, 3, 2).detach())
            self.kept = None

        def forward(self, x):
            if self.kept is None:
                self.kept = (self.w / self.w.norm()).detach()
            return x @ self.kept + self.w.sum()

    return Layer(), draw(torch, 4, 3)


@wrong_program(
    KIND, "module called before keeps its weight", "detach|Layer", cut=True, batch="fourth"
)
def _(torch):
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(draw(torch, 3, 2).detach())
            self.kept = None

        def forward(self, x):
            if self.kept is None:
                self.kept = self.w.detach().exp()
            return x @ self.kept + self.w.sum()

    layer = Layer()
    layer(draw(torch, 4, 3))
    return layer, draw(torch, 4, 3)


@wrong_program(KIND, "function called before keeps the norm", "detach", cut=True, batch="fourth")
def _(torch):
    kept = {}

    def program(x):
        if "norm" not in kept:
            kept["norm"] = x.detach().norm()
        return x / kept["norm"]

    program(draw(torch, 4))
    return program, draw(torch, 4)


@wrong_program(KIND, "numpy array of scales", "numpy|detach", cut=True, batch="fourth")
def _(torch):
    kept = []

    def program(x):
        if not kept:
            kept.append(np.abs(x.detach().numpy()).max())
        return x.sin() / float(kept[0])

    return program, draw(torch, 4)


@wrong_program(KIND, "attention weights of the last call", "detach", cut=True, batch="fourth")
def _(torch):
    class Attend(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.q = torch.nn.Parameter(draw(torch, 3).detach())
            self.last = None

        def forward(self, x):
            now = torch.softmax(x @ self.q, 0)
            weights = now if self.last is None else 0.5 * (now + self.last)
            self.last = weights.detach()
            return self.last @ x + weights.sum()

    return Attend(), draw(torch, 4, 3)


@wrong_program(KIND, "norm of the first call in a class attribute", "Divide", batch="fourth")
def _(torch):
    class Divide(torch.autograd.Function):
        norm = None

        @staticmethod
        def forward(ctx, x):
            if Divide.norm is None:
                Divide.norm = x.norm().detach()
            return x / Divide.norm

        @staticmethod
        def backward(ctx, g):
            return g / Divide.norm

    return lambda x: Divide.apply(x).sum() * 2, draw(torch, 4)


@wrong_program(KIND, "backward with the first call's input", "Square", batch="fourth")
def _(torch):
    class Square(torch.autograd.Function):
        kept = None

        @staticmethod
        def forward(ctx, x):
            if Square.kept is None:
                Square.kept = x.detach().clone()
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * Square.kept

    return lambda x: Square.apply(x).sum() + Square.apply(x + 1).sum(), draw(torch, 4)


@wrong_program(
    KIND, "whitening matrix kept by a closure", "no_grad|detach", cut=True, batch="fourth"
)
def _(torch):
    kept = None

    def program(x):
        nonlocal kept
        if kept is None:
            with torch.no_grad():
                kept = torch.linalg.cholesky(x.T @ x + torch.eye(2, dtype=x.dtype)).inverse()
        return x @ kept.T

    return program, draw(torch, 5, 2)


@wrong_program(KIND, "position table from the input's range", "detach", cut=True, batch="fourth")
def _(torch):
    class Table(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.tables = {}

        def forward(self, x):
            if len(x) not in self.tables:
                self.tables[len(x)] = torch.linspace(0, 1, len(x), dtype=x.dtype) * x.detach().max()
            return (x + self.tables[len(x)]).cos()

    return Table(), draw(torch, 5)
