"""Mistakes in small entries beside large ones, at single places, in one of many layers, in other orders of derivation."""

from __future__ import annotations

from .rows import wrong_program
from .table import draw, leaf, op

SECOND = lambda torch: {"order": 2}  # noqa: E731


@wrong_program("badly scaled", "one small entry beside a large one", "Odd")
def _(torch):
    F = op(
        torch,
        "Odd",
        lambda x: 1e9 * x[0] + 3 * x[1],
        lambda ctx, g, x: torch.stack([1e9 * g, 4 * g]),
    )
    return lambda x: F.apply(x) * 1.25, draw(torch, 2)


@wrong_program("badly scaled", "small input of two", "Odd")
def _(torch):
    F = op(
        torch,
        "Odd",
        lambda a, b: 1e8 * a.sin() + b.sin(),
        lambda ctx, g, a, b: (1e8 * g * a.cos(), 1.5 * g * b.cos()),
    )
    return lambda a, b: F.apply(a, b).sum(), draw(torch, 3), draw(torch, 3, seed=1)


@wrong_program("badly scaled", "small row of a weight", "Odd")
def _(torch):
    scale = [1e7, 1.0, 1e-3]

    def forward(x):
        return (x * torch.tensor(scale, dtype=x.dtype)).sum() ** 2 * 1e-7

    def backward(ctx, g, x):
        s = torch.tensor(scale, dtype=x.dtype)
        wrong_s = torch.tensor([1e7, 1.1, 1e-3], dtype=x.dtype)
        return 2e-7 * g * (x * s).sum() * wrong_s

    F = op(torch, "Odd", forward, backward)
    return lambda x: F.apply(x), draw(torch, 3)


@wrong_program("badly scaled", "all tiny", "Odd")
def _(torch):
    F = op(torch, "Odd", lambda x: 1e-12 * x.sin(), lambda ctx, g, x: 2e-12 * g * x.cos())
    return lambda x: F.apply(x) + 0, draw(torch, 4)


@wrong_program("badly scaled", "all tiny beyond float32", "Odd")
def _(torch):
    F = op(torch, "Odd", lambda x: 1e-100 * x.sin(), lambda ctx, g, x: 1.5e-100 * g * x.cos())
    return lambda x: F.apply(x) * 1.0, draw(torch, 4)


@wrong_program("badly scaled", "all huge beyond float32", "Odd")
def _(torch):
    F = op(torch, "Odd", lambda x: 1e100 * x.sin(), lambda ctx, g, x: 1.01e100 * g * x.cos())
    return lambda x: F.apply(x) * 1.0, draw(torch, 4)


@wrong_program("badly scaled", "tiny inputs", "Odd")
def _(torch):
    F = op(
        torch, "Odd", lambda x: (1e10 * x).sin(), lambda ctx, g, x: 0.9e10 * g * (1e10 * x).cos()
    )
    return lambda x: F.apply(x) * 1.0, (draw(torch, 4).detach() * 1e-10).requires_grad_()


@wrong_program("badly scaled", "huge inputs", "Odd")
def _(torch):
    F = op(
        torch, "Odd", lambda x: (1e-10 * x).sin(), lambda ctx, g, x: 0.9e-10 * g * (1e-10 * x).cos()
    )
    return lambda x: F.apply(x) * 1.0, (draw(torch, 4).detach() * 1e10).requires_grad_()


@wrong_program("badly scaled", "beside a large constant", "Odd")
def _(torch):
    F = op(torch, "Odd", lambda x: x.sin(), lambda ctx, g, x: 1.02 * g * x.cos())
    return lambda x: F.apply(x).sum() + 1e6, draw(torch, 4)


@wrong_program("badly scaled", "a small part of a sum", "Odd")
def _(torch):
    F = op(torch, "Odd", lambda x: x.cos(), lambda ctx, g, x: g * x.sin())
    return lambda x: 1e5 * x.sin() + F.apply(x), draw(torch, 4)


# ---- single places ----
@wrong_program("single place", "above three", "Odd")
def _(torch):
    F = op(
        torch,
        "Odd",
        lambda x: x.sin(),
        lambda ctx, g, x: g * torch.where(x > 3, x.cos() * 1.1, x.cos()),
    )
    return lambda x: F.apply(x) * 1.25, leaf(torch, [0.5, 3.5, -1.0])


@wrong_program("single place", "at whole numbers", "Odd")
def _(torch):
    F = op(
        torch,
        "Odd",
        lambda x: x.sin(),
        lambda ctx, g, x: g * torch.where(x == x.round(), x * 0, x.cos()),
    )
    return lambda x: F.apply(x) * 1.25, leaf(torch, [0.5, 2.0, -1.3])


@wrong_program("single place", "at zero", "Odd")
def _(torch):
    F = op(torch, "Odd", lambda x: x.sin(), lambda ctx, g, x: g * x.sign().abs() * x.cos())
    return lambda x: F.apply(x) * 1.25, leaf(torch, [0.5, 0.0, -1.3])


@wrong_program("single place", "at the largest", "Odd")
def _(torch):
    F = op(
        torch,
        "Odd",
        lambda x: x.exp(),
        lambda ctx, g, x: g * x.exp() * torch.where(x == x.max(), x * 0 + 1.2, x * 0 + 1),
    )
    return lambda x: F.apply(x) * 1.25, draw(torch, 3, 3)


@wrong_program("single place", "where all are positive", "Odd")
def _(torch):
    F = op(
        torch,
        "Odd",
        lambda x: x.sin(),
        lambda ctx, g, x: g * (x.cos() if bool((x < 0).any()) else 1 - x),
    )
    return lambda x: F.apply(x) * 1.25, draw(torch, 4, low=0.1)


@wrong_program("single place", "beyond 127", "Odd")
def _(torch):
    def backward(ctx, g, x):
        index = torch.arange(150).to(torch.int8).long() % 150
        return (g * x.cos())[index]

    F = op(torch, "Odd", lambda x: x.sin(), backward)
    return lambda x: F.apply(x) * 1.25, draw(torch, 150)


@wrong_program("single place", "last of an odd length", "Odd")
def _(torch):
    def backward(ctx, g, x):
        n = x.shape[0] // 2 * 2
        return torch.cat([(g * x.cos())[:n], 0 * x[n:]])

    F = op(torch, "Odd", lambda x: x.sin(), backward)
    return lambda x: F.apply(x) * 1.25, draw(torch, 7)


@wrong_program("single place", "ties each take the whole", "Odd")
def _(torch):
    F = op(torch, "Odd", lambda x: x.max(), lambda ctx, g, x: g * (x == x.max()).to(x.dtype))
    return lambda x: F.apply(x) * 1.25, leaf(torch, [1.0, 1.0, 0.5])


@wrong_program("single place", "ties in a clipped sum", "Odd")
def _(torch):
    F = op(
        torch,
        "Odd",
        lambda a, b: torch.maximum(a, b),
        lambda ctx, g, a, b: (g * (a >= b), g * (b >= a)),
    )
    return lambda x: F.apply(x, x * 1).sum(), draw(torch, 4)


@wrong_program("single place", "absolute value two at zero", "Odd")
def _(torch):
    F = op(
        torch,
        "Odd",
        lambda x: x.abs(),
        lambda ctx, g, x: g * torch.where(x == 0, x * 0 + 2, x.sign()),
    )
    return lambda x: F.apply(x) * 1.25, leaf(torch, [0.0, 1.0, -1.0])


@wrong_program("single place", "relu below zero at zero", "Odd")
def _(torch):
    F = op(
        torch,
        "Odd",
        lambda x: x.clamp(min=0),
        lambda ctx, g, x: g * torch.where(x == 0, x * 0 - 0.5, (x > 0).to(x.dtype)),
    )
    return lambda x: F.apply(x) * 1.25, leaf(torch, [0.0, 1.0, -1.0])


@wrong_program("single place", "smaller of two, the other branch", "Odd")
def _(torch):
    F = op(
        torch,
        "Odd",
        lambda x: torch.minimum(x * x, x + 2),
        lambda ctx, g, x: g * torch.where(x * x < x + 2 + 1e-6, 2 * x, x * 0 + 1),
    )
    return lambda x: F.apply(x) * 1.25, leaf(torch, [0.5, 2 + 1e-8, 3.0])


# ---- one of many ----
@wrong_program("one of many", "the seventeenth layer", "Odd")
def _(torch):
    class Odd(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, i):
            ctx.save_for_backward(x)
            ctx.i = i
            return x + 0.1 * x.sin()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * (1 + (0.2 if ctx.i == 17 else 0.1) * x.cos()), None

    def program(x):
        for i in range(40):
            x = Odd.apply(x, i)
        return x

    return program, draw(torch, 4)


@wrong_program("one of many", "an activation deep in a module", "Odd")
def _(torch):
    F = op(torch, "Odd", lambda x: x.tanh(), lambda ctx, g, x: g * (1 - x.tanh()))

    class Act(torch.nn.Module):
        def forward(self, x):
            return F.apply(x)

    torch.manual_seed(0)
    n = torch.nn
    net = n.Sequential(
        n.Linear(3, 4),
        n.Sequential(n.Tanh(), n.Sequential(n.Linear(4, 4), Act()), n.Linear(4, 2)),
        n.Tanh(),
    )
    return net.double(), draw(torch, 5, 3)


@wrong_program("one of many", "forget gate of a cell", "Cell")
def _(torch):
    class Cell(torch.autograd.Function):
        @staticmethod
        def forward(ctx, c, f, i):
            ctx.save_for_backward(c, f, i)
            return f.sigmoid() * c + i.tanh()

        @staticmethod
        def backward(ctx, g):
            _c, f, i = ctx.saved_tensors
            s = f.sigmoid()
            return g * s, g * s * (1 - s), g * (1 - i.tanh() ** 2)

    def program(x, w):
        c = x[0] * 0
        for t in range(6):
            c = Cell.apply(c, x[t] * w[0] + c, x[t] * w[1])
        return c

    return program, draw(torch, 6, 2), draw(torch, 2, 2, seed=1)


@wrong_program("one of many", "leaf of a recursion", "Odd")
def _(torch):
    F = op(torch, "Odd", lambda a, b: a * b + a, lambda ctx, g, a, b: (g * b, g * a))

    def tree(x):
        if x.shape[0] == 1:
            return x[0]
        half = x.shape[0] // 2
        return F.apply(tree(x[:half]), tree(x[half:]))

    return tree, draw(torch, 8)


# ---- several outputs ----
@wrong_program("some outputs", "none taken for the other", "Pair")
def _(torch):
    class Pair(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x)
            return x.sin(), x.cos()

        @staticmethod
        def backward(ctx, a, b):
            (x,) = ctx.saved_tensors
            a = b if a is None else a
            b = a if b is None else b
            return a * x.cos() - b * x.sin()

    return lambda x: Pair.apply(x)[1] * 2, draw(torch, 4)


@wrong_program("some outputs", "marked as not differentiable", "Pair|mark_non_differentiable")
def _(torch):
    class Pair(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            a, b = x.sin(), x.cos()
            ctx.mark_non_differentiable(b)
            return a, b

        @staticmethod
        def backward(ctx, a, b):
            (x,) = ctx.saved_tensors
            return a * x.cos()

    def program(x):
        a, b = Pair.apply(x)
        return a * b

    return program, draw(torch, 4)


@wrong_program("some outputs", "third only with the first", "Triple")
def _(torch):
    class Triple(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin(), x.cos(), x * x

        @staticmethod
        def backward(ctx, a, b, c):
            (x,) = ctx.saved_tensors
            third = 2 * x * c if bool(a.any()) else x * c
            return a * x.cos() - b * x.sin() + third

    return lambda x: Triple.apply(x)[2].sum(), draw(torch, 4)


# ---- other derivatives ----
@wrong_program("other derivatives", "forward rule only", "Odd")
def _(torch):
    class Odd(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.sin()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0].cos()

        @staticmethod
        def jvp(ctx, t):
            return t * ctx.saved_tensors[0].sin()

    return lambda x: Odd.apply(x) * 2, draw(torch, 4)


@wrong_program("other derivatives", "kept as a number of ctx", "Odd", options=SECOND)
def _(torch):
    class Odd(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.slope = 3 * x.detach() ** 2
            return x**3

        @staticmethod
        def backward(ctx, g):
            return g * ctx.slope

    return lambda x: Odd.apply(x) * 2, draw(torch, 4)


@wrong_program("other derivatives", "backward's own backward", "Slope|Sine", options=SECOND)
def _(torch):
    class Slope(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, g):
            ctx.save_for_backward(x, g)
            return g * x.cos()

        @staticmethod
        def backward(ctx, h):
            x, g = ctx.saved_tensors
            return h * g * x.sin(), h * x.cos()

    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            return Slope.apply(ctx.saved_tensors[0], g)

    return lambda x: Sine.apply(x) * 2, draw(torch, 4)


@wrong_program("other derivatives", "penalty on a detached slope", "Odd")
def _(torch):
    F = op(torch, "Odd", lambda x: x.sin(), lambda ctx, g, x: (g * x.cos()).detach())

    def program(x):
        (slope,) = torch.autograd.grad(F.apply(x).sum(), x, create_graph=True)
        return (slope**2).sum() + x.sum()

    return program, draw(torch, 4)


@wrong_program("other derivatives", "penalty on a wrong slope", "Odd")
def _(torch):
    F = op(torch, "Odd", lambda x: x.sin(), lambda ctx, g, x: g * x.detach().cos() + 0 * x)

    def program(x):
        (slope,) = torch.autograd.grad(F.apply(x).sum(), x, create_graph=True)
        return (slope**2).sum()

    return program, draw(torch, 4)
