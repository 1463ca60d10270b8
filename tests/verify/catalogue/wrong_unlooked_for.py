"""Wrong gradients of kinds that are easily overlooked: wrong in one use, one output, one order, one sign."""

from __future__ import annotations

import io

from .rows import wrong_program
from .table import draw, leaf, op

SECOND = lambda torch: {"order": 2}  # noqa: E731


@wrong_program("used in a loop", "saved on the class", "Scale", batch="fourth")
def _(torch):
    class Scale(torch.autograd.Function):
        saved = None

        @staticmethod
        def forward(ctx, x, s):
            Scale.saved = s
            return x * s

        @staticmethod
        def backward(ctx, g):
            return g * Scale.saved, None

    def program(x):
        for step in (2.0, 3.0, 0.5):
            x = Scale.apply(x.sin(), step)
        return x

    return program, draw(torch, 4)


@wrong_program("used in a loop", "a list that grows after it is saved", "Poly", batch="fourth")
def _(torch):
    powers = []

    class Poly(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            powers.append(n)
            ctx.powers = powers
            ctx.save_for_backward(x)
            return x**n

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            n = ctx.powers[-1]
            return g * n * x ** (n - 1), None

    def program(x):
        powers.clear()
        return Poly.apply(x, 3) + Poly.apply(x, 2)

    return program, draw(torch, 4)


@wrong_program(
    "used in a loop", "gradients added up in a buffer of its own", "Tally", batch="fourth"
)
def _(torch):
    class Tally(torch.autograd.Function):
        total = None

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.exp()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            Tally.total = g * x.exp() if Tally.total is None else Tally.total + g * x.exp()
            return Tally.total

    return lambda x: Tally.apply(x).sum(), draw(torch, 4)


@wrong_program("incoming gradient", "scaled in place while shared", "Triple", batch="fourth")
def _(torch):
    class Triple(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, g):
            return g.mul_(3)

    def program(x, z):
        return Triple.apply(x) + z

    return program, draw(torch, 4), draw(torch, 4, seed=1)


@wrong_program("incoming gradient", "one tensor given twice, then changed", "Both", batch="fourth")
def _(torch):
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a)
            return a * a + b

        @staticmethod
        def backward(ctx, g):
            (a,) = ctx.saved_tensors
            out = g.clone()
            gb = out
            out *= 2 * a
            return out, gb

    return lambda a, b: Both.apply(a, b).sin(), draw(torch, 4), draw(torch, 4, seed=1)


@wrong_program("broadcast", "mean instead of sum", "Add", batch="fourth")
def _(torch):
    F = op(torch, "Add", lambda a, b: a + b, lambda ctx, g, a, b: (g, g.mean(0)))
    return lambda a, b: F.apply(a, b).tanh(), draw(torch, 3, 4), draw(torch, 4)


@wrong_program("broadcast", "the other axis of a square", "Mul", batch="fourth")
def _(torch):
    F = op(torch, "Mul", lambda a, b: a * b, lambda ctx, g, a, b: (g * b, (g * a).sum(1)))
    return lambda a, b: F.apply(a, b), draw(torch, 4, 4), draw(torch, 4)


@wrong_program("broadcast", "kept axis averaged", "Shift", batch="fourth")
def _(torch):
    F = op(torch, "Shift", lambda a, b: a - b, lambda ctx, g, a, b: (g, -g.mean(1, keepdim=True)))
    return lambda a, b: F.apply(a, b).cos().sum(), draw(torch, 3, 5), draw(torch, 3, 1)


@wrong_program("precision", "gradient through half", "Wave", batch="fourth")
def _(torch):
    F = op(torch, "Wave", lambda x: x.sin(), lambda ctx, g, x: (g * x.cos()).half().to(x.dtype))
    return lambda x: F.apply(x) * 1.5, draw(torch, 6)


@wrong_program("precision", "gradient rounded to a grid", "Wave", batch="fourth")
def _(torch):
    F = op(
        torch, "Wave", lambda x: x.sin(), lambda ctx, g, x: ((g * x.cos()) * 1024).round() / 1024
    )
    return lambda x: F.apply(x).exp(), draw(torch, 6)


@wrong_program("masks", "dropout scaled in one direction only", "Drop", batch="fourth")
def _(torch):
    class Drop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            keep = (torch.rand(x.shape) < 0.5).to(x.dtype)
            ctx.save_for_backward(keep)
            return x * keep / 0.5

        @staticmethod
        def backward(ctx, g):
            (keep,) = ctx.saved_tensors
            return g * keep

    return lambda x: Drop.apply(x).sin(), draw(torch, 12)


@wrong_program("masks", "masked places get a gradient", "Mask", batch="fourth")
def _(torch):
    F = op(torch, "Mask", lambda x: x.masked_fill(x < -0.5, -9.0), lambda ctx, g, x: g.clone())
    return lambda x: torch.softmax(F.apply(x) * 0.1, -1), draw(torch, 3, 5)


@wrong_program("masks", "root made safe too late", "sqrt|where|SqrtBackward0", batch="fourth")
def _(torch):
    # The value is safe at 0, the gradient there is 0·∞.
    def program(x):
        return torch.where(x > 0, x.sqrt(), torch.zeros_like(x)).sum()

    return program, leaf(torch, [0.5, 0.0, 2.0])


@wrong_program("indices", "written where it should add", "Pick", batch="fourth")
def _(torch):
    index = torch.tensor([0, 2, 2, 1])

    def back(ctx, g, x):
        out = torch.zeros_like(x)
        out[index] = g
        return out

    F = op(torch, "Pick", lambda x: x[index], back)
    return lambda x: F.apply(x).tanh(), draw(torch, 3, 2)


@wrong_program("indices", "rolled the same way back", "Roll", batch="fourth")
def _(torch):
    F = op(torch, "Roll", lambda x: x.roll(1), lambda ctx, g, x: g.roll(1))
    return lambda x: F.apply(x) * x, draw(torch, 5)


@wrong_program("indices", "sorted and not put back", "Sort", batch="fourth")
def _(torch):
    F = op(torch, "Sort", lambda x: x.sort().values, lambda ctx, g, x: g[x.argsort()])
    return lambda x: F.apply(x) * torch.arange(5.0, dtype=x.dtype), leaf(
        torch, [0.3, -1.0, 0.9, 0.1, -0.4]
    )


@wrong_program("indices", "windows that overlap counted once", "Windows", batch="fourth")
def _(torch):
    def back(ctx, g, x):
        out = torch.zeros_like(x)
        for i in range(g.shape[0]):
            out[i : i + 3] = g[i]
        return out

    F = op(torch, "Windows", lambda x: x.unfold(0, 3, 1).clone(), back)
    return lambda x: F.apply(x).sin(), draw(torch, 6)


@wrong_program("indices", "running sum from the wrong end", "Cumsum", batch="fourth")
def _(torch):
    F = op(torch, "Cumsum", lambda x: x.cumsum(0), lambda ctx, g, x: g.cumsum(0))
    return lambda x: F.apply(x).square(), draw(torch, 5)


@wrong_program("normalising", "variance taken for a constant", "Norm", batch="fourth")
def _(torch):
    def back(ctx, g, x):
        std = x.std(-1, unbiased=False, keepdim=True)
        return (g - g.mean(-1, keepdim=True)) / std

    F = op(
        torch,
        "Norm",
        lambda x: (x - x.mean(-1, keepdim=True)) / x.std(-1, unbiased=False, keepdim=True),
        back,
    )
    return lambda x: F.apply(x).tanh(), draw(torch, 3, 5)


@wrong_program("normalising", "one too few in the variance", "Norm", batch="fourth")
def _(torch):
    def back(ctx, g, x):
        n = x.shape[-1]
        std = x.std(-1, keepdim=True)
        y = (x - x.mean(-1, keepdim=True)) / std
        return (g - g.mean(-1, keepdim=True) - y * (g * y).sum(-1, keepdim=True) / n) / std

    F = op(
        torch,
        "Norm",
        lambda x: (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True),
        back,
    )
    return lambda x: F.apply(x).exp(), draw(torch, 3, 5)


@wrong_program("losses", "smoothing left out", "Smooth", batch="fourth")
def _(torch):
    target = torch.tensor([0, 2, 1])

    def run(x):
        logs = torch.log_softmax(x, -1)
        return -(0.9 * logs[torch.arange(3), target] + 0.1 * logs.mean(-1)).mean()

    def back(ctx, g, x):
        one = torch.nn.functional.one_hot(target, 4).to(x.dtype)
        return g * (torch.softmax(x, -1) - one) / 3

    F = op(torch, "Smooth", run, back)
    return lambda x: F.apply(x) * 2, draw(torch, 3, 4)


@wrong_program("losses", "focusing factor taken for a constant", "Focal", batch="fourth")
def _(torch):
    def back(ctx, g, x):
        p = torch.sigmoid(x)
        return -g * (1 - p) ** 2 * (1 - p)

    F = op(
        torch,
        "Focal",
        lambda x: -((1 - torch.sigmoid(x)) ** 2) * torch.nn.functional.logsigmoid(x),
        back,
    )
    return lambda x: F.apply(x).sum(), draw(torch, 5)


@wrong_program("linear algebra", "solved without the transpose", "Solve", batch="fourth")
def _(torch):
    def back(ctx, g, a, b):
        gb = torch.linalg.solve(a, g)
        return -gb @ torch.linalg.solve(a, b).T, gb

    F = op(torch, "Solve", lambda a, b: torch.linalg.solve(a, b), back)
    a = (draw(torch, 3, 3) + 4 * torch.eye(3)).detach().requires_grad_()
    return lambda a, b: F.apply(a, b).tanh(), a, draw(torch, 3, 2)


@wrong_program("linear algebra", "power rule for matrices", "Cube", batch="fourth")
def _(torch):
    F = op(torch, "Cube", lambda a: a @ a @ a, lambda ctx, g, a: 3 * g @ a.T @ a.T)
    return lambda a: F.apply(a).sin(), draw(torch, 3, 3)


@wrong_program("linear algebra", "determinant without the transpose", "LogDet", batch="fourth")
def _(torch):
    F = op(torch, "LogDet", lambda a: torch.logdet(a), lambda ctx, g, a: g * a.inverse())
    a = (draw(torch, 3, 3) + 4 * torch.eye(3)).detach().requires_grad_()
    return lambda a: F.apply(a) ** 2, a


@wrong_program("hook in a function", "scaled on the way", "register_hook|hook", batch="fourth")
def _(torch):
    def program(x):
        y = x.sin()
        y.register_hook(lambda g: g * 0.5)
        return y * 2

    return program, draw(torch, 4)


@wrong_program("hook in a function", "clipped on the way", "register_hook|hook", batch="fourth")
def _(torch):
    def program(x):
        y = x.exp()
        y.register_hook(lambda g: g.clamp(-0.1, 0.1))
        return (y * 3).sum()

    return program, draw(torch, 4)


@wrong_program("left the graph", "through a list", "tolist|item", cut=True, batch="fourth")
def _(torch):
    def program(x):
        scale = torch.tensor(x.exp().tolist(), dtype=x.dtype)
        return x * scale

    return program, draw(torch, 4)


@wrong_program(
    "left the graph", "through a file", "save|detach|load|numpy", cut=True, batch="fourth"
)
def _(torch):
    def program(x):
        held = io.BytesIO()
        torch.save(x.exp().detach(), held)
        held.seek(0)
        return x * torch.load(held)

    return program, draw(torch, 4)


@wrong_program("left the graph", "bounds of a range", "item", cut=True, batch="fourth")
def _(torch):
    def program(x):
        grid = torch.linspace(0.0, x.max().item(), 4, dtype=x.dtype)
        return (grid * x).sin()

    return program, draw(torch, 4)


@wrong_program(
    "left the graph", "a helper that does not record", "no_grad", cut=True, batch="fourth"
)
def _(torch):
    @torch.no_grad()
    def temperature(x):
        return x.std()

    return lambda x: torch.softmax(x / temperature(x), -1), draw(torch, 5)


@wrong_program("left the graph", "grad mode switched off", "set_grad_enabled|no_grad", cut=True, batch="fourth")  # fmt: skip
def _(torch):
    def program(x):
        with torch.set_grad_enabled(False):
            gate = torch.sigmoid(x.sum())
        return x * gate

    return program, draw(torch, 4)


@wrong_program("left the graph", "penalty without create_graph", "grad", cut=True, batch="fourth")
def _(torch):
    def program(x):
        (g,) = torch.autograd.grad((x**3).sum(), x, retain_graph=True)
        return (x**2).sum() + (g**2).sum()

    return program, draw(torch, 4)


@wrong_program("left the graph", "state cut at every step", "detach", cut=True, batch="fourth")
def _(torch):
    def program(x):
        h = torch.zeros((), dtype=x.dtype)
        for value in x:
            h = torch.tanh(0.7 * h.detach() + value)
        return h

    return program, draw(torch, 4)


@wrong_program("left the graph", "detached in place", "detach_", cut=True, batch="fourth")
def _(torch):
    def program(x):
        gate = x.sigmoid()
        gate.detach_()
        return x * gate

    return program, draw(torch, 4)


@wrong_program("some outputs", "the second output's gradient is dropped", "Polar", batch="fourth")
def _(torch):
    class Polar(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            r = (x * x + y * y).sqrt()
            ctx.save_for_backward(x, y, r)
            return r, torch.atan2(y, x)

        @staticmethod
        def backward(ctx, gr, ga):
            x, y, r = ctx.saved_tensors
            return gr * x / r, gr * y / r

    def program(x, y):
        r, a = Polar.apply(x, y)
        return r * a

    return program, draw(torch, 4, low=0.5), draw(torch, 4, seed=1, low=0.5)


@wrong_program("some outputs", "called not differentiable", "Parts", batch="fourth")
def _(torch):
    class Parts(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            a, b = x.sin(), x.cos()
            ctx.save_for_backward(x)
            ctx.mark_non_differentiable(b)
            return a, b

        @staticmethod
        def backward(ctx, ga, gb):
            (x,) = ctx.saved_tensors
            return ga * x.cos()

    def program(x):
        a, b = Parts.apply(x)
        return a * b

    return program, draw(torch, 4)


@wrong_program("some outputs", "absent gradients taken for ones", "Pair", batch="fourth")
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
            out = x.cos() * (1.0 if ga is None else ga)
            return out if gb is None else out + gb * x.exp()

    return lambda x: Pair.apply(x)[1] * 2, draw(torch, 4)


@wrong_program("second order", "backward computed from detached values", "Cube", options=SECOND, batch="fourth")  # fmt: skip
def _(torch):
    F = op(torch, "Cube", lambda x: x**3, lambda ctx, g, x: g * 3 * (x * x).detach())
    return lambda x: F.apply(x).sum(), draw(torch, 4)


@wrong_program("complex", "conjugate forgotten in a product", "Times", batch="fourth")
def _(torch):
    F = op(torch, "Times", lambda a, b: a * b, lambda ctx, g, a, b: (g * b, g * a))
    return (
        lambda a, b: torch.view_as_real(F.apply(a, b)),
        draw(torch, 3, dtype="complex128"),
        draw(torch, 3, seed=1, dtype="complex128"),
    )


@wrong_program("complex", "real part of the gradient only", "Mod", batch="fourth")
def _(torch):
    def back(ctx, g, z):
        return (g * z.real / z.abs()).to(z.dtype)

    F = op(torch, "Mod", lambda z: z.abs(), back)
    return lambda z: F.apply(z) ** 2, draw(torch, 4, dtype="complex128")


@wrong_program("implicit", "fixed point with the wrong sign", "Fixed", batch="fourth")
def _(torch):
    class Fixed(torch.autograd.Function):
        """y with y = cos(a y) / 2."""

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
            return -g * s * y / (1 - s * a)

    return lambda a: Fixed.apply(a), draw(torch, 4, low=0.2, high=1.0)


@wrong_program("implicit", "one step instead of the fixed point", "no_grad|detach", cut=True, batch="fourth")  # fmt: skip
def _(torch):
    def program(a):
        y = torch.zeros_like(a)
        with torch.no_grad():
            for _ in range(80):
                y = (a * y).cos() / 2
        return (a * y).cos() / 2

    return program, draw(torch, 4, low=0.2, high=1.0)


@wrong_program("nested results", "in a dictionary", "Half", batch="fourth")
def _(torch):
    F = op(torch, "Half", lambda x: x / 2, lambda ctx, g, x: g)
    return lambda d: {"a": [F.apply(d["x"])], "b": (d["x"].sin(), 3)}, {"x": draw(torch, 3)}


@wrong_program("nested results", "the input itself among the results", "Twice", batch="fourth")
def _(torch):
    F = op(torch, "Twice", lambda x: x * 2, lambda ctx, g, x: g * 2.01)
    return lambda x: (x, F.apply(x)), draw(torch, 3)


@wrong_program("small share", "a hundredth of one entry of many", "Bend", batch="fourth")
def _(torch):
    def back(ctx, g, x):
        out = g * x.cos()
        out[7] *= 1.01
        return out

    F = op(torch, "Bend", lambda x: x.sin(), back)
    return lambda x: F.apply(x) * 1e-6, draw(torch, 64)


@wrong_program("small share", "wrong where the input is negative", "Soft", batch="fourth")
def _(torch):
    F = op(
        torch,
        "Soft",
        lambda x: torch.nn.functional.softplus(x),
        lambda ctx, g, x: torch.where(x < -0.6, g * x.exp(), g * x.sigmoid()),
    )
    return lambda x: F.apply(x), draw(torch, 20)
