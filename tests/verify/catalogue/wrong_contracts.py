"""Wrong gradients by how a Function is used, not by its formula: optional inputs, guards, wrappers, aliases."""

from __future__ import annotations

from .rows import wrong_program
from .table import draw, op

BATCH = "fifth"


@wrong_program("optional input", "bias scaled with the rest", "Affine", batch=BATCH)
def _(torch):
    class Affine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, b=None, scale=1.0):
            ctx.save_for_backward(x, w)
            ctx.has_bias, ctx.scale = b is not None, scale
            y = x * w * scale
            return y if b is None else y + b

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            gb = g * ctx.scale if ctx.has_bias else None
            return g * w * ctx.scale, g * x * ctx.scale, gb, None

    return (
        lambda x, w, b: Affine.apply(x, w, b, 3.0),
        draw(torch, 4),
        draw(torch, 4, seed=1),
        draw(torch, 4, seed=2),
    )


@wrong_program(
    "optional input", "the weight's gradient under the mask's flag", "Weighted", batch=BATCH
)
def _(torch):
    class Weighted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x.sin() * w

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            gx = g * x.cos() * w if ctx.needs_input_grad[1] else torch.zeros_like(x)
            gw = g * x.sin() if ctx.needs_input_grad[1] else None
            return gx, gw

    frozen = draw(torch, 4, seed=1).detach()
    return lambda x: Weighted.apply(x, frozen), draw(torch, 4)


@wrong_program("guard", "denominator clamped in the backward only", "Ratio", batch=BATCH)
def _(torch):
    F = op(
        torch,
        "Ratio",
        lambda a, b: a / b,
        lambda ctx, g, a, b: (g / b.clamp(min=0.5), -g * a / b.clamp(min=0.5) ** 2),
    )
    return (
        lambda a, b: F.apply(a, b.abs()),
        draw(torch, 6),
        draw(torch, 6, seed=3),
    )


@wrong_program("guard", "small gradients dropped", "Sparse", batch=BATCH)
def _(torch):
    def back(ctx, g, x):
        out = g * x.cos()
        return torch.where(out.abs() > 0.05, out, torch.zeros_like(out))

    F = op(torch, "Sparse", torch.sin, back)
    return lambda x: F.apply(x) * 0.1, draw(torch, 8)


@wrong_program("guard", "norm clipped inside", "Clipped", batch=BATCH)
def _(torch):
    def back(ctx, g, x):
        out = g * 3 * x**2
        return out * (1.0 / out.norm()).clamp(max=1.0)

    F = op(torch, "Clipped", lambda x: x**3, back)
    return lambda x: F.apply(x).sum(), draw(torch, 6)


@wrong_program("guard", "centred before it is handed on", "Centred", batch=BATCH)
def _(torch):
    def back(ctx, g, w):
        out = g * w.cos()
        return out - out.mean()

    F = op(torch, "Centred", torch.sin, back)
    return lambda w: F.apply(w), draw(torch, 5)


@wrong_program("guard", "weight decay added in the backward", "Decayed", batch=BATCH)
def _(torch):
    F = op(torch, "Decayed", torch.sin, lambda ctx, g, w: g * w.cos() + 1e-4 * w)
    return lambda w: F.apply(w), draw(torch, 5)


@wrong_program("shards", "sum over shards averaged back", "AllReduce", batch=BATCH)
def _(torch):
    class AllReduce(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *parts):
            ctx.n = len(parts)
            return sum(parts)

        @staticmethod
        def backward(ctx, g):
            return tuple(g / ctx.n for _ in range(ctx.n))

    def program(a, b):
        return AllReduce.apply(a.sin(), b.cos(), a * b)

    return program, draw(torch, 4), draw(torch, 4, seed=1)


@wrong_program("shards", "gathered parts given back in turn", "AllGather", batch=BATCH)
def _(torch):
    class AllGather(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *parts):
            ctx.n = len(parts)
            return torch.cat(parts)

        @staticmethod
        def backward(ctx, g):
            return tuple(g[i :: ctx.n] for i in range(ctx.n))

    return (
        lambda a, b: AllGather.apply(a, b).tanh(),
        draw(torch, 3),
        draw(torch, 3, seed=1),
    )


@wrong_program("shards", "micro-batches divided once too often", "Accumulate", batch=BATCH)
def _(torch):
    F = op(
        torch, "Accumulate", lambda x: x.mean(), lambda ctx, g, x: (g / x.numel() / 2).expand_as(x)
    )

    def program(x):
        return F.apply(x[:2] ** 2) + F.apply(x[2:] ** 2)

    return program, draw(torch, 4)


@wrong_program("wrapper", "decorator that scales what it wraps", "Inner", batch=BATCH)
def _(torch):
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, run, x):
            ctx.save_for_backward(x)
            ctx.run = run
            with torch.no_grad():
                return run(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                again = x.detach().requires_grad_()
                (out,) = torch.autograd.grad(ctx.run(again).sum(), again)
            return None, out

    return lambda x: Inner.apply(torch.sin, x) * 2, draw(torch, 4)


@wrong_program("wrapper", "recomputed at another precision's point", "Again", batch=BATCH)
def _(torch):
    class Again(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.kept = x.detach().half()
            return x.exp() * x

        @staticmethod
        def backward(ctx, g):
            x = ctx.kept.to(g.dtype)
            return g * x.exp() * (1 + x)

    return lambda x: Again.apply(x), draw(torch, 4)


@wrong_program("wrapper", "vmapped over one input only", "Pairwise", batch=BATCH)
def _(torch):
    def back(ctx, g, a, b):
        d = a[:, None] - b[None]
        return (g * 2 * d).sum(1), -(g * 2 * d).sum(1)

    F = op(torch, "Pairwise", lambda a, b: (a[:, None] - b[None]) ** 2, back)
    return lambda a, b: F.apply(a, b), draw(torch, 4), draw(torch, 4, seed=1)


@wrong_program("own memory", "workspace reused by the next backward", "Workspace", batch=BATCH)
def _(torch):
    buffers = {}

    class Workspace(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            out = buffers.setdefault((x.shape, x.dtype), torch.empty_like(x))
            out.copy_(2 * x * g)
            return out

    def program(a, b):
        return Workspace.apply(a) * Workspace.apply(b)

    return program, draw(torch, 4), draw(torch, 4, seed=1)


@wrong_program("own memory", "input normalised in place, not marked", "Normalise", batch=BATCH)
def _(torch):
    class Normalise(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            x.data.clamp_(-0.5, 0.5)
            return g * x.cos()

    return lambda x: Normalise.apply(x * 1), draw(torch, 6)


@wrong_program("own memory", "result kept where the next call writes", "Exponential", batch=BATCH)
def _(torch):
    buffers = {}

    class Exponential(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.y = buffers.setdefault((x.shape, x.dtype), torch.empty_like(x))
            ctx.y.copy_(x.exp())
            return ctx.y.clone()

        @staticmethod
        def backward(ctx, g):
            return g * ctx.y

    def program(x):
        return Exponential.apply(x) * Exponential.apply(x * 2)

    return program, draw(torch, 4)
