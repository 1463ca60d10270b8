"""Right gradients of kinds that are easily accused: aliases, hooks, helpers without a graph, solvers, scales."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from .rows import right_program
from .table import draw, leaf, op

SECOND = lambda torch: {"order": 2}  # noqa: E731


@right_program("aliases", "one gradient for two inputs", batch="fourth")
def _(torch):
    F = op(torch, "Add", lambda a, b: a + b, lambda ctx, g, a, b: (g, g))
    return lambda a, b: F.apply(a, b).tanh() + a, draw(torch, 4), draw(torch, 4, seed=1)


@right_program("aliases", "its own fresh tensor changed in place", batch="fourth")
def _(torch):
    def back(ctx, g, x):
        out = g.clone()
        out *= 3
        out.mul_(x * x)
        return out

    F = op(torch, "Cube", lambda x: x**3, back)
    return lambda x: F.apply(x) + x, draw(torch, 4)


@right_program("aliases", "views of the gradient given on", batch="fourth")
def _(torch):
    F = op(
        torch,
        "Cat",
        lambda a, b: torch.cat([a, b]),
        lambda ctx, g, a, b: (g[: len(a)], g[len(a) :]),
    )
    return lambda a, b: F.apply(a, b).sin(), draw(torch, 3), draw(torch, 2)


@right_program("aliases", "the input among the results", batch="fourth")
def _(torch):
    return lambda x: (x, x * 2, x.view(-1)), draw(torch, 2, 3)


@right_program("aliases", "transposed and back, in place", batch="fourth")
def _(torch):
    def program(x):
        y = x.clone()
        y.t().mul_(2)
        y[0].add_(x[1])
        return y.sin()

    return program, draw(torch, 3, 3)


@right_program("broadcast", "summed to the size", batch="fourth")
def _(torch):
    F = op(
        torch,
        "Mul",
        lambda a, b: a * b,
        lambda ctx, g, a, b: ((g * b).sum_to_size(a.shape), (g * a).sum_to_size(b.shape)),
    )
    return lambda a, b: F.apply(a, b).exp(), draw(torch, 3, 1), draw(torch, 1, 4)


@right_program("without a graph", "largest number subtracted", batch="fourth")
def _(torch):
    def program(x):
        m = x.detach().max()
        return (x - m).exp().sum().log() + m

    return program, draw(torch, 6)


@right_program("without a graph", "shift that cancels", batch="fourth")
def _(torch):
    def program(x):
        with torch.no_grad():
            shift = x.mean()
        return torch.softmax(x - shift, -1)

    return program, draw(torch, 6)


@right_program("without a graph", "mask from detached values", batch="fourth")
def _(torch):
    def program(x):
        keep = (x.detach().abs() > 0.2).to(x.dtype)
        return (x * keep).tanh()

    return program, leaf(torch, [0.5, -0.1, 1.0, -0.9, 0.05])


@right_program("without a graph", "size read as a number", batch="fourth")
def _(torch):
    def program(x):
        if x.norm().item() > 1e6:
            return x / x.norm()
        return x / float(x.numel())

    return program, draw(torch, 4)


@right_program("without a graph", "start of a solver, solved to the end", batch="fourth")
def _(torch):
    def program(a):
        with torch.no_grad():
            y = torch.zeros_like(a)
            for _ in range(80):
                y = y - (y**3 + y - a) / (3 * y**2 + 1)
        # One Newton step from the root has the root's own derivative.
        return y - (y**3 + y - a) / (3 * y.detach() ** 2 + 1)

    return program, draw(torch, 4)


@right_program("hook in a function", "that only looks", batch="fourth")
def _(torch):
    seen = []

    def program(x):
        y = x.sin()
        y.register_hook(lambda g: seen.append(g.norm()))
        return y * 2

    return program, draw(torch, 4)


@right_program("hook in a function", "scaled and scaled back", batch="fourth")
def _(torch):
    def program(x):
        y = x.sin()
        y.register_hook(lambda g: g * 8)
        z = y * 2
        z.register_hook(lambda g: g / 8)
        return z + x

    return program, draw(torch, 4)


@right_program("hook in a function", "layout mended", batch="fourth")
def _(torch):
    def program(x):
        y = x.t() * 2
        y.register_hook(lambda g: g.contiguous())
        return y.exp().sum()

    return program, draw(torch, 3, 2)


@right_program("indices", "added up at duplicates", batch="fourth")
def _(torch):
    index = torch.tensor([0, 2, 2, 1, 0])

    def back(ctx, g, x):
        return torch.zeros_like(x).index_add(0, index, g)

    F = op(torch, "Pick", lambda x: x[index], back)
    return lambda x: F.apply(x).tanh(), draw(torch, 3, 2)


@right_program("indices", "sorted and put back", batch="fourth")
def _(torch):
    def back(ctx, g, x):
        return torch.zeros_like(g).scatter(0, x.argsort(), g)

    F = op(torch, "Sort", lambda x: x.sort().values, back)
    return lambda x: F.apply(x) * torch.arange(5.0, dtype=x.dtype), leaf(
        torch, [0.3, -1.0, 0.9, 0.1, -0.4]
    )


@right_program("indices", "windows by as_strided", batch="fourth")
def _(torch):
    return lambda x: x.as_strided((4, 3), (1, 1)).prod(1), draw(torch, 6)


@right_program("masks", "root made safe in time", batch="fourth")
def _(torch):
    def program(x):
        safe = torch.where(x > 0, x, torch.ones_like(x))
        return torch.where(x > 0, safe.sqrt(), torch.zeros_like(x)).sum()

    return program, leaf(torch, [0.5, -0.3, 2.0])


@right_program("masks", "mask kept for the backward", batch="fourth")
def _(torch):
    class Drop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            keep = (torch.rand(x.shape) < 0.5).to(x.dtype) * 2
            ctx.save_for_backward(keep)
            return x * keep

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    return lambda x: Drop.apply(x).sin(), draw(torch, 12)


@right_program("masks", "infinities behind a mask", batch="fourth")
def _(torch):
    mask = torch.ones(3, 3).triu(1).bool()
    return lambda x: torch.softmax(x.masked_fill(mask, float("-inf")), -1), draw(torch, 3, 3)


@right_program("complex", "product with conjugates", batch="fourth")
def _(torch):
    F = op(torch, "Times", lambda a, b: a * b, lambda ctx, g, a, b: (g * b.conj(), g * a.conj()))
    return (
        lambda a, b: torch.view_as_real(F.apply(a, b)),
        draw(torch, 3, dtype="complex128"),
        draw(torch, 3, seed=1, dtype="complex128"),
    )


@right_program("complex", "power of a spectrum", batch="fourth")
def _(torch):
    return lambda x: torch.fft.rfft(x).abs().square().log1p().sum(), draw(torch, 8)


@right_program("decomposition", "projector on an eigenspace", batch="fourth")
def _(torch):
    def program(x):
        _, v = torch.linalg.eigh(x + x.T)
        return v[:, :1] @ v[:, :1].T

    return program, draw(torch, 3, 3)


@right_program("decomposition", "nuclear norm, once more", batch="fourth")
def _(torch):
    return lambda x: torch.linalg.svdvals(x).sum(), draw(torch, 4, 3)


@right_program("implicit", "fixed point by its adjoint", batch="fourth")
def _(torch):
    class Fixed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            y = torch.zeros_like(a)
            for _ in range(80):
                y = (a * y).cos() / 2
            ctx.save_for_backward(a, y)
            return y

        @staticmethod
        def backward(ctx, g):
            a, y = ctx.saved_tensors
            s = (a * y).sin() / 2
            return -g * s * y / (1 + s * a)

    return lambda a: Fixed.apply(a), draw(torch, 4, low=0.2, high=1.0)


@right_program("implicit", "series in the backward", batch="fourth")
def _(torch):
    def back(ctx, g, a):
        total = term = g
        for _ in range(200):
            term = a.T @ term
            total = total + term
        return total @ torch.linalg.solve(torch.eye(3, dtype=a.dtype) - a, ctx.b).T

    def run(ctx, a):
        ctx.b = torch.ones(3, 1, dtype=a.dtype)
        return torch.linalg.solve(torch.eye(3, dtype=a.dtype) - a, ctx.b)

    F = op(torch, "Neumann", run, back)
    return lambda a: F.apply(a * 0.2), draw(torch, 3, 3)


@right_program("nested results", "named tuples and dictionaries", batch="fourth")
def _(torch):
    class Out(NamedTuple):
        mean: object
        rest: object

    return (
        lambda d, flag: Out(d["x"].mean(), {"s": [d["x"].std(), flag], "n": None}),
        {"x": draw(torch, 4)},
        True,
    )


@right_program("nested results", "an input that is not used", batch="fourth")
def _(torch):
    return lambda x, y: x.sin(), draw(torch, 4), draw(torch, 3, seed=1)


@right_program("some outputs", "absent gradients left out", batch="fourth")
def _(torch):
    class Pair(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x)
            return x.sin(), x.exp()

        @staticmethod
        def backward(ctx, ga, gb):
            (x,) = ctx.saved_tensors
            out = None
            if ga is not None:
                out = ga * x.cos()
            if gb is not None:
                out = gb * x.exp() if out is None else out + gb * x.exp()
            return out

    return lambda x: Pair.apply(x)[1] * 2, draw(torch, 4)


@right_program("some outputs", "an index beside the value", batch="fourth")
def _(torch):
    class Top(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            value, index = x.max(0)
            ctx.mark_non_differentiable(index)
            ctx.save_for_backward(index)
            ctx.n = len(x)
            return value, index

        @staticmethod
        def backward(ctx, g, _):
            (index,) = ctx.saved_tensors
            out = torch.zeros(ctx.n, dtype=g.dtype)
            out[index] = g
            return out

    return lambda x: Top.apply(x)[0] ** 2, draw(torch, 5)


@right_program("second order", "backward made of functions", SECOND, batch="fourth")
def _(torch):
    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            return g * Cosine.apply(ctx.saved_tensors[0])

    class Cosine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.cos()

        @staticmethod
        def backward(ctx, g):
            return -g * Sine.apply(ctx.saved_tensors[0])

    return lambda x: Sine.apply(x) * 2, draw(torch, 4)


@right_program("scales", "numbers of 1e-30", batch="fourth")
def _(torch):
    return lambda x: (x * 1e30).tanh() * 1e-30, leaf(torch, [1e-30, -2e-30, 5e-31])


@right_program("scales", "numbers of 1e120", batch="fourth")
def _(torch):
    return lambda x: (x / 1e120).sin() * 1e120, leaf(torch, [1e120, -2e120, 5e119])


@right_program("scales", "inputs a million million apart", batch="fourth")
def _(torch):
    return (
        lambda a, b: (a * 1e-6).sin() + (b * 1e6).cos(),
        draw(torch, 3, high=1e6),
        leaf(torch, [1e-6, -3e-7, 5e-7]),
    )


@right_program("scales", "large logits in float32", batch="fourth")
def _(torch):
    return lambda x: torch.nn.functional.cross_entropy(x, torch.tensor([0, 1, 2])), leaf(
        torch, [[80.0, -20.0, 3.0], [60.0, 61.0, 2.0], [0.0, 5.0, 90.0]], "float32"
    )


@right_program("machinery", "parts computed in threads", batch="fourth")
def _(torch):
    def program(x):
        with ThreadPoolExecutor(2) as pool:
            parts = list(pool.map(lambda row: row.sin().sum(), x))
        return torch.stack(parts)

    return program, draw(torch, 3, 2)


@right_program("machinery", "copied by deepcopy before use", batch="fourth")
def _(torch):
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh()).double()

    def program(x):
        return copy.deepcopy(net)(x)

    return program, draw(torch, 2, 3)


@right_program("machinery", "a tree by recursion", batch="fourth")
def _(torch):
    def fold(x):
        if len(x) == 1:
            return x[0]
        half = len(x) // 2
        return torch.tanh(fold(x[:half]) * 2 + fold(x[half:]))

    return fold, draw(torch, 6)


@right_program("machinery", "the same module twice and a frozen one", batch="fourth")
def _(torch):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.a = torch.nn.Linear(3, 3).double()
            self.b = torch.nn.Linear(3, 3).double()
            self.b.requires_grad_(False)

        def forward(self, x):
            return self.a(self.b(self.a(x).tanh()).tanh())

    return Net(), draw(torch, 2, 3)


@right_program("machinery", "function that changes its own copy", batch="fourth")
def _(torch):
    def program(x):
        y = torch.empty_like(x)
        for i in range(len(x)):
            y[i] = x[i] ** 2 if i == 0 else y[i - 1].clone() * x[i]
        return y

    return program, draw(torch, 4)


@right_program("machinery", "sampled with a path through the sample", batch="fourth")
def _(torch):
    def program(mean, scale):
        noise = torch.randn(4, dtype=mean.dtype)
        return torch.sigmoid(mean + noise * scale.exp())

    return program, draw(torch, 4), draw(torch, 4, seed=1)
