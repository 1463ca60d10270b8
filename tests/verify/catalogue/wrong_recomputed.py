"""Backwards that compute the forward again, or solve for what they need, and do it amiss."""

from __future__ import annotations

from typing import Any

from .rows import wrong_program
from .table import draw

SECOND = lambda torch: {"order": 2}  # noqa: E731


def recomputing(torch: Any, run: Any, before: Any = None) -> Any:
    """A checkpoint: `run` once more in the backward, after `before`."""

    class Recompute(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *xs: Any) -> Any:
            ctx.save_for_backward(*xs)
            with torch.no_grad():
                return run(*xs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            xs = [x.detach().requires_grad_() for x in ctx.saved_tensors]
            if before is not None:
                before()
            with torch.enable_grad():
                out = run(*xs)
            return tuple(torch.autograd.grad(out, xs, g))

    return Recompute


@wrong_program("recomputed", "checkpoint draws another mask", "Recompute")
def _(torch):
    F = recomputing(torch, lambda x: x.sin() * (torch.rand(6) < 0.5).to(x.dtype))
    return lambda x: F.apply(x) * 2, draw(torch, 6)


@wrong_program("recomputed", "checkpoint draws other noise", "Recompute")
def _(torch):
    F = recomputing(torch, lambda x: x * torch.randn(5, dtype=x.dtype))
    return lambda x: F.apply(x).sum(), draw(torch, 5)


@wrong_program("recomputed", "checkpoint of a counter", "Recompute")
def _(torch):
    calls = [0]

    def run(x):
        calls[0] += 1
        return x.sin() * (1 + calls[0] % 2)

    F = recomputing(torch, run)

    def program(x):
        calls[0] = 0
        return F.apply(x)

    return program, draw(torch, 4)


@wrong_program("recomputed", "checkpoint of a scale set since", "Recompute")
def _(torch):
    scale = [1.0]
    F = recomputing(torch, lambda x: (x * scale[0]).tanh())

    def program(x):
        scale[0] = 1.0
        y = F.apply(x)
        scale[0] = 3.0
        return y

    return program, draw(torch, 4)


@wrong_program("recomputed", "checkpoint in half", "Recompute")
def _(torch):
    class Recompute(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.exp()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x.to(torch.float16).exp().to(g.dtype)

    return lambda x: Recompute.apply(x) * 1.5, draw(torch, 4)


@wrong_program("recomputed", "checkpoint loses the weight", "Recompute")
def _(torch):
    class Recompute(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return (x @ w).tanh()

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            with torch.enable_grad():
                x = x.detach().requires_grad_()
                out = (x @ w).tanh()
            return torch.autograd.grad(out, x, g)[0], None

    return lambda x, w: Recompute.apply(x, w) * 2, draw(torch, 3, 2), draw(torch, 2, 2, seed=1)


@wrong_program("recomputed", "reversible block undone in the wrong order", "Reversible")
def _(torch):
    class Reversible(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            y = a + b.sin()
            z = b + y.cos()
            ctx.save_for_backward(y, z)
            return y, z

        @staticmethod
        def backward(ctx, gy, gz):
            y, z = ctx.saved_tensors
            b = z - z.cos()  # should be y.cos()
            gy = gy - gz * y.sin()
            return gy, gz + gy * b.cos()

    def program(a, b):
        y, z = Reversible.apply(a, b)
        return y * z

    return program, draw(torch, 4), draw(torch, 4, seed=1)


@wrong_program("recomputed", "equilibrium without its jacobian", "Equilibrium")
def _(torch):
    class Equilibrium(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            z = x * 0
            for _ in range(80):
                z = (z @ w * 0.3 + x).tanh()
            ctx.save_for_backward(x, w, z)
            return z

        @staticmethod
        def backward(ctx, g):
            _x, _w, z = ctx.saved_tensors
            d = g * (1 - z * z)
            return d, 0.3 * z.T @ d

    return lambda x, w: Equilibrium.apply(x, w).sum(), draw(torch, 3, 2), draw(torch, 2, 2, seed=1)


@wrong_program("recomputed", "root by newton, sign", "Root")
def _(torch):
    class Root(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            x = a * 0 + 1
            for _ in range(40):
                x = x - (x**3 + a * x - 2) / (3 * x * x + a)
            ctx.save_for_backward(x, a)
            return x

        @staticmethod
        def backward(ctx, g):
            x, a = ctx.saved_tensors
            return g * x / (3 * x * x + a)

    return lambda a: Root.apply(a).exp(), draw(torch, 4, low=0.2)


@wrong_program("recomputed", "argmin without the hessian", "Argmin")
def _(torch):
    class Argmin(torch.autograd.Function):
        @staticmethod
        def forward(ctx, h, b):
            ctx.save_for_backward(h)
            return b / h

        @staticmethod
        def backward(ctx, g):
            (_h,) = ctx.saved_tensors
            return None, g

    return lambda h, b: Argmin.apply(h, b) * 2, draw(torch, 4, low=0.5), draw(torch, 4, seed=2)


@wrong_program("recomputed", "adjoint of euler with the last state", "Flow")
def _(torch):
    class Flow(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            for _ in range(10):
                x = x + 0.1 * x.sin()
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            for _ in range(10):
                g = g * (1 + 0.1 * x.cos())
            return g

    return lambda x: Flow.apply(x).sum(), draw(torch, 4)


# ---- kept outside of ctx ----
@wrong_program("kept elsewhere", "on the class", "Kept")
def _(torch):
    class Kept(torch.autograd.Function):
        last = None

        @staticmethod
        def forward(ctx, x):
            Kept.last = x
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            return g * Kept.last.cos()

    return lambda x: Kept.apply(x) * Kept.apply(x * 2), draw(torch, 4)


@wrong_program("kept elsewhere", "on a stack, the first for all", "Kept")
def _(torch):
    stack = []

    class Kept(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            stack.append(x.detach())
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            return g * stack[0].cos()

    def program(x):
        stack.clear()
        return Kept.apply(Kept.apply(x) + 0.3)

    return program, draw(torch, 4)


@wrong_program("kept elsewhere", "in a module's attribute", "Kept")
def _(torch):
    class Kept(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, owner):
            ctx.owner = owner
            owner.seen = x.detach()
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.owner.seen, None

    class Layer(torch.nn.Module):
        def forward(self, x):
            return Kept.apply(Kept.apply(x, self) + 1, self)

    return Layer(), draw(torch, 4)


@wrong_program("kept elsewhere", "a list as default argument", "Kept")
def _(torch):
    class Kept(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, seen=[]):  # noqa: B006 - the mistake
            seen.append(x.detach())
            ctx.seen = seen
            return x.exp()

        @staticmethod
        def backward(ctx, g):
            return g * ctx.seen[0].exp()

    return lambda x: Kept.apply(x) + Kept.apply(x * 0.5), draw(torch, 4)


# ---- changed after saving ----
@wrong_program("changed in secret", "data of a sigmoid", "sigmoid|add_|data")
def _(torch):
    def program(x):
        y = x.sigmoid()
        y.data.add_(1)
        return y * 2

    return program, draw(torch, 4)


@wrong_program("changed in secret", "data of an operand", "mul|data|mul_")
def _(torch):
    def program(x):
        a = x.sin()
        y = a * a.exp()
        a.data.mul_(3)
        return y

    return program, draw(torch, 4)


@wrong_program(
    "changed in secret",
    "through numpy",
    "tanh|numpy|numpy()",
)
def _(torch):
    def program(x):
        y = x.tanh()
        out = y * 1.5
        y.detach().numpy()[0] = 0.9
        return out

    return program, draw(torch, 4)


@wrong_program("changed in secret", "scaled without recording", "no_grad|mul_", cut=True)
def _(torch):
    def program(x):
        y = x.sin()
        with torch.no_grad():
            y.mul_(2)
        return y + 1

    return program, draw(torch, 4)


@wrong_program("changed in secret", "clamped through data", "clamp_|data", cut=True)
def _(torch):
    def program(x):
        y = x * 2
        y.data.clamp_(-1, 1)
        return y + 1

    return program, draw(torch, 6)


# ---- hooks ----
@wrong_program("hook", "doubles at a tensor", "hook|register_hook|sin|mul")
def _(torch):
    def program(x):
        y = x.sin()
        y.register_hook(lambda g: 2 * g)
        return y * 3

    return program, draw(torch, 4)


@wrong_program("hook", "clips at a tensor", "hook|register_hook|sin|mul")
def _(torch):
    def program(x):
        y = x.sin()
        y.register_hook(lambda g: g.clamp(-0.1, 0.1))
        return y * 3

    return program, draw(torch, 4)


@wrong_program("hook", "halves in place", "hook|register_hook|sin|mul")
def _(torch):
    def program(x):
        y = x.sin()
        y.register_hook(lambda g: g.mul_(0.5))
        return y * 3

    return program, draw(torch, 4)


@wrong_program("hook", "of a module's backward", "hook|register_full_backward_hook|Linear|linear")
def _(torch):
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 2).double()
    layer.register_full_backward_hook(
        lambda m, gin, gout: tuple(None if g is None else 0.5 * g for g in gin)
    )
    return torch.nn.Sequential(torch.nn.Tanh(), layer, torch.nn.Tanh()), draw(torch, 4, 3)


@wrong_program("hook", "of a parameter", "hook|register_hook|linear|Linear|parameter")
def _(torch):
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 2).double()
    layer.weight.register_hook(lambda g: g * 0.1)
    return torch.nn.Sequential(layer, torch.nn.Tanh()), draw(torch, 4, 3)
