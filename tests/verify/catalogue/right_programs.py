"""Right gradients through solvers, derivatives within, checkpoints and other machinery of programs."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from .rows import right_program
from .table import draw, leaf


def symmetric(x):
    return x @ x.T


@right_program("derivative within", "gradient penalty")
def _(torch):
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)
    ).double()

    def program(x):
        (g,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        return ((g.norm(dim=1) - 1) ** 2).mean()

    return program, draw(torch, 4, 3)


@right_program("derivative within", "inner step of meta learning")
def _(torch):
    def program(w, x):
        loss = ((x * w).tanh() ** 2).mean()
        (g,) = torch.autograd.grad(loss, w, create_graph=True)
        return ((x * (w - 0.5 * g)).tanh()).sum()

    return program, draw(torch, 3), draw(torch, 4, 3, seed=1)


@right_program("derivative within", "hessian times vector")
def _(torch):
    def program(x, v):
        (g,) = torch.autograd.grad((x**3 * x.roll(1)).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad((g * v).sum(), x, create_graph=True)
        return h

    return program, draw(torch, 4), draw(torch, 4, seed=1)


@right_program("derivative within", "vmap of grad")
def _(torch):
    return lambda x: torch.func.vmap(torch.func.grad(lambda r: (r.sin() * r).sum()))(x), draw(
        torch, 3, 4
    )


@right_program("derivative within", "determinant of a jacobian")
def _(torch):
    return lambda x: torch.func.jacrev(lambda z: (z.roll(1) * 2 + z**3).tanh())(x).det(), draw(
        torch, 3
    )


@right_program("solver", "root by newton until it is still")
def _(torch):
    def program(a):
        x = a * 0 + 1
        for _ in range(60):
            step = (x**3 + a * x - 2) / (3 * x * x + a)
            x = x - step
            if float(step.detach().abs().max()) < 1e-12:
                break
        return x - (x**3 + a * x - 2) / (3 * x * x + a)

    return program, draw(torch, 4, low=0.2)


@right_program("solver", "implicit root")
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
            return -g * x / (3 * x * x + a)

    return lambda a: Root.apply(a).exp(), draw(torch, 4, low=0.2)


@right_program("solver", "equilibrium to ten digits")
def _(torch):
    class Equilibrium(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            z = x * 0
            for _ in range(35):
                z = (0.5 * z.sin() + x).tanh()
            ctx.save_for_backward(x, z)
            return z

        @staticmethod
        def backward(ctx, g):
            _, z = ctx.saved_tensors
            d = 1 - z * z
            return g * d / (1 - d * 0.5 * z.cos())

    return lambda x: Equilibrium.apply(x) * 2, draw(torch, 4)


@right_program("solver", "runge kutta")
def _(torch):
    def program(x):
        f = lambda z: torch.stack([z[1], -z[0].sin() - 0.1 * z[1]])  # noqa: E731
        for _ in range(30):
            a = f(x)
            b = f(x + 0.05 * a)
            c = f(x + 0.05 * b)
            d = f(x + 0.1 * c)
            x = x + 0.1 / 6 * (a + 2 * b + 2 * c + d)
        return x

    return program, draw(torch, 2)


@right_program("solver", "logistic map")
def _(torch):
    def program(x):
        for _ in range(25):
            x = 3.9 * x * (1 - x)
        return x

    return program, leaf(torch, [0.3, 0.61])


@right_program("solver", "sinkhorn")
def _(torch):
    def program(c):
        k = (-c).exp()
        u = k[:, 0] * 0 + 1
        for _ in range(30):
            v = 1 / (k.T @ u)
            u = 1 / (k @ v)
        return (u[:, None] * k * v[None] * c).sum()

    return program, draw(torch, 3, 3)


@right_program("solver", "power iteration")
def _(torch):
    def program(x):
        a = symmetric(x)
        v = a[:, 0]
        for _ in range(50):
            v = a @ v
            v = v / v.norm()
        return v @ a @ v

    return program, draw(torch, 3, 3)


@right_program("solver", "conjugate gradients")
def _(torch):
    def program(x, b):
        a = symmetric(x) + torch.eye(3, dtype=x.dtype)
        y, r = b * 0, b
        p = r
        for _ in range(3):
            ap = a @ p
            alpha = (r @ r) / (p @ ap)
            y = y + alpha * p
            new = r - alpha * ap
            p = new + (new @ new) / (r @ r) * p
            r = new
        return y

    return program, draw(torch, 3, 3), draw(torch, 3, seed=1)


# ---- decompositions ----
@right_program("decomposition", "repeated eigenvalues")
def _(torch):
    return lambda x: torch.linalg.eigvalsh(x + x.T).exp().sum(), torch.eye(
        3, dtype=torch.float64
    ).requires_grad_()


@right_program("decomposition", "projector on an eigenvector")
def _(torch):
    def program(x):
        _, v = torch.linalg.eigh(symmetric(x))
        return v[:, -1:] @ v[:, -1:].T

    return program, draw(torch, 3, 3)


@right_program("decomposition", "nuclear norm")
def _(torch):
    return lambda x: torch.linalg.svdvals(x).sum(), draw(torch, 3, 4)


@right_program("decomposition", "low rank part")
def _(torch):
    def program(x):
        u, s, v = torch.linalg.svd(x, full_matrices=False)
        return (u[:, :1] * s[:1]) @ v[:1]

    return program, draw(torch, 3, 4)


@right_program("decomposition", "log determinant by qr")
def _(torch):
    return lambda x: torch.linalg.qr(x)[1].diagonal().abs().log().sum(), draw(torch, 3, 3)


@right_program("decomposition", "gaussian likelihood by cholesky")
def _(torch):
    def program(x, y):
        factor = torch.linalg.cholesky(symmetric(x) + 0.1 * torch.eye(3, dtype=x.dtype))
        z = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
        return factor.diagonal().log().sum() + (z**2).sum() / 2

    return program, draw(torch, 3, 3), draw(torch, 3, seed=1)


@right_program("decomposition", "eigenvalues of a rotation")
def _(torch):
    return lambda x: torch.linalg.eigvals(x).abs().sum(), leaf(torch, [[0.5, -1.0], [1.2, 0.4]])


@right_program("decomposition", "least squares")
def _(torch):
    return (
        lambda a, b: torch.linalg.lstsq(a, b).solution,
        draw(torch, 5, 2),
        draw(torch, 5, 1, seed=1),
    )


@right_program("decomposition", "pseudo-inverse")
def _(torch):
    return lambda a: torch.linalg.pinv(a), draw(torch, 4, 2)


# ---- machinery ----
@right_program("machinery", "checkpoint with dropout")
def _(torch):
    from importlib import import_module

    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    F = torch.nn.functional
    return lambda x: checkpoint(
        lambda z: F.dropout(z.sin(), 0.5, True) * 2, x, use_reentrant=False
    ), draw(torch, 6)


@right_program("machinery", "saved on the side")
def _(torch):
    def program(x):
        with torch.autograd.graph.saved_tensors_hooks(
            lambda t: t.detach().numpy().copy(), lambda a: torch.from_numpy(a)
        ):
            return (x.exp() * x.sin()).tanh()

    return program, draw(torch, 4)


@right_program("machinery", "hooks that look")
def _(torch):
    seen = []

    def program(x):
        y = x.sin()
        y.register_hook(lambda g: seen.append(float(g.sum())))
        return y * 2

    return program, draw(torch, 4)


@right_program("machinery", "module hooks that look")
def _(torch):
    torch.manual_seed(0)
    seen = []
    layer = torch.nn.Linear(3, 2).double()
    layer.register_full_backward_hook(lambda m, a, b: seen.append(len(a)))
    layer.register_forward_hook(lambda m, a, b: seen.append(len(a)))
    layer.weight.register_hook(lambda g: g.clone())
    return torch.nn.Sequential(layer, torch.nn.Tanh()), draw(torch, 4, 3)


@right_program("machinery", "hook that scales and its undoing")
def _(torch):
    def program(x):
        y = x.sin()
        y.register_hook(lambda g: 2 * g)
        z = y * 3
        z.register_hook(lambda g: 0.5 * g)
        return z

    return program, draw(torch, 4)


@right_program("machinery", "weight norm")
def _(torch):
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 2).double()
    return torch.nn.utils.parametrizations.weight_norm(layer), draw(torch, 4, 3)


@right_program("machinery", "one weight in two layers")
def _(torch):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(3, 3).double()
            self.b = torch.nn.Linear(3, 3).double()
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x).tanh())

    torch.manual_seed(0)
    return Net(), draw(torch, 2, 3)


@right_program("machinery", "frozen layer")
def _(torch):
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)
    ).double()
    net[0].weight.requires_grad_(False)
    return net, draw(torch, 2, 3)


@right_program("machinery", "mean kept on the side")
def _(torch):
    class Centre(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(3, dtype=torch.float64))

        def forward(self, x):
            with torch.no_grad():
                self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
            return (x - x.mean(0)).tanh()

    return Centre(), draw(torch, 4, 3)


@right_program("machinery", "named tuple out")
def _(torch):
    class Out(NamedTuple):
        loss: Any
        parts: Any

    return lambda x: Out(x.sin().sum(), [x.cos(), {"a": x * 2, "n": None, "k": 3}]), draw(torch, 3)


@right_program("machinery", "callable object with partial")
def _(torch):
    class Scale:
        def __init__(self, by):
            self.by = by

        def __call__(self, x, power=1):
            return (x * self.by) ** power

    return functools.partial(Scale(2.5), power=3), draw(torch, 3)


@right_program("machinery", "the input itself and twice the same")
def _(torch):
    def program(x):
        y = x.exp()
        return x, y, y

    return program, draw(torch, 3)


@right_program("machinery", "exception caught inside")
def _(torch):
    def program(x):
        try:
            return torch.linalg.cholesky(-symmetric(x)).sum()
        except Exception:
            return symmetric(x).sum()

    return program, draw(torch, 3, 3)


@right_program("machinery", "reparametrised normal draws")
def _(torch):
    return lambda a: torch.distributions.Normal(a, a.exp()).rsample() ** 2, draw(torch, 4)


@right_program("machinery", "registered operator")
def _(torch):
    from .wrong_layers import registered

    fair = registered(
        torch, "fair_sine", lambda x: x.sin(), lambda ctx, g: g * ctx.saved_tensors[0].cos()
    )
    return lambda x: fair(x) * 1.5, draw(torch, 4)


@right_program("machinery", "rows written in a loop")
def _(torch):
    def program(x):
        out = torch.zeros(4, 3, dtype=x.dtype)
        out[0] = x[0].sin()
        for i in range(1, 4):
            out[i] = out[i - 1].clone() * x[i]
        return out

    return program, draw(torch, 4, 3)


@right_program("machinery", "halves swapped through views")
def _(torch):
    def program(x):
        y = x.clone()
        a, b = y[:2], y[2:]
        keep = a.clone()
        a.copy_(b)
        b.copy_(keep * 2)
        return y.exp()

    return program, draw(torch, 4)
