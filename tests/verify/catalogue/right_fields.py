"""Right gradients that look odd: approximations told as such, seeds kept, grazing geometry, unusual programs."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from .rows import right_program
from .table import draw, leaf, op

BATCH = "fifth"


@right_program("approximated", "central differences in the backward", batch=BATCH)
def _(torch):
    h = 1e-5
    F = op(
        torch,
        "Difference",
        lambda x: x.sin().exp(),
        lambda ctx, g, x: g * ((x + h).sin().exp() - (x - h).sin().exp()) / (2 * h),
    )
    return lambda x: F.apply(x), draw(torch, 4)


@right_program("approximated", "five-point stencil in the backward", batch=BATCH)
def _(torch):
    h = 1e-3

    def back(ctx, g, x):
        near = (x + h).tanh() - (x - h).tanh()
        far = (x + 2 * h).tanh() - (x - 2 * h).tanh()
        return g * (8 * near - far) / (12 * h)

    F = op(torch, "Stencil", torch.tanh, back)
    return lambda x: F.apply(x), draw(torch, 4)


@right_program("approximated", "gradient computed in float64 for float32", batch=BATCH)
def _(torch):
    def back(ctx, g, x):
        wide = x.double()
        return (g.double() * wide.cos() * wide.sin().exp()).float()

    F = op(torch, "Wide", lambda x: x.sin().exp(), back)
    return lambda x: F.apply(x), draw(torch, 5, dtype="float32")


@right_program("approximated", "digamma of the same series as the forward", batch=BATCH)
def _(torch):
    def forward(x):
        return (x - 0.5) * x.log() - x + 0.5 * math.log(2 * math.pi) + 1 / (12 * x)

    F = op(
        torch,
        "Stirling",
        forward,
        lambda ctx, g, x: g * (x.log() - 0.5 / x - 1 / (12 * x * x)),
    )
    return lambda x: F.apply(x.exp() + 2), draw(torch, 4)


@right_program("drawn in the backward", "mask drawn again from its seed", batch=BATCH)
def _(torch):
    class Dropout(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.seed = int(torch.randint(0, 1 << 30, ()))
            return x * Dropout.mask(ctx.seed, x)

        @staticmethod
        def mask(seed, x):
            generator = torch.Generator().manual_seed(seed)
            return 2 * (torch.rand(x.shape, generator=generator) > 0.5).to(x.dtype)

        @staticmethod
        def backward(ctx, g):
            return g * Dropout.mask(ctx.seed, g)

    return lambda x: Dropout.apply(x.sin()), draw(torch, 8)


@right_program("drawn in the backward", "numbers drawn and not used", batch=BATCH)
def _(torch):
    def back(ctx, g, x):
        torch.rand(3)
        return g * x.cos()

    F = op(torch, "Idle", torch.sin, back)
    return lambda x: F.apply(x), draw(torch, 4)


@right_program("drawn in the backward", "projection whose draw cancels", batch=BATCH)
def _(torch):
    def back(ctx, g, x):
        noise = torch.rand(x.shape, dtype=x.dtype) + 1
        return (g * x.exp() * noise) / noise

    F = op(torch, "Cancel", torch.exp, back)
    return lambda x: F.apply(x), draw(torch, 4)


@right_program("segments", "empty segment", batch=BATCH)
def _(torch):
    owner = torch.tensor([0, 0, 3, 3, 3])

    def program(x):
        total = torch.zeros(4, dtype=x.dtype).index_add(0, owner, x)
        count = torch.zeros(4, dtype=x.dtype).index_add(0, owner, torch.ones_like(x))
        return total / count.clamp(min=1)

    return program, draw(torch, 5)


@right_program("segments", "softmax within segments by its own rule", batch=BATCH)
def _(torch):
    owner = torch.tensor([0, 1, 1, 0, 1])

    def summed(x):
        return torch.zeros(2, dtype=x.dtype).index_add(0, owner, x)[owner]

    def forward(ctx, x):
        e = (x - x.max()).exp()
        ctx.y = e / summed(e)
        return ctx.y

    F = op(torch, "SegmentSoftmax", forward, lambda ctx, g, x: ctx.y * (g - summed(g * ctx.y)))
    return lambda x: F.apply(x * 3), draw(torch, 5)


@right_program("segments", "neighbours normalised by their degree", batch=BATCH)
def _(torch):
    adjacency = torch.tensor([[0, 1, 1], [1, 0, 0], [1, 0, 0]], dtype=torch.float64)

    def program(x, w):
        degree = adjacency.sum(1).rsqrt()
        return (degree[:, None] * adjacency * degree) @ x @ w

    return program, draw(torch, 3, 4), draw(torch, 4, 2, seed=1)


@right_program("rendering", "volume composited", batch=BATCH)
def _(torch):
    def program(density, colour):
        alpha = 1 - (-density.exp() * 0.1).exp()
        through = torch.cat([torch.ones(1, dtype=alpha.dtype), (1 - alpha).cumprod(0)[:-1]])
        return ((alpha * through)[:, None] * colour).sum(0)

    return program, draw(torch, 6), draw(torch, 6, 3, seed=1)


@right_program("rendering", "ray that nearly misses a sphere", batch=BATCH)
def _(torch):
    def program(offset):
        return (1 - offset**2).clamp(min=0).sqrt()

    return program, leaf(torch, [0.2, 0.99, 0.9999])


@right_program("rendering", "ray that misses, made safe", batch=BATCH)
def _(torch):
    def program(offset):
        inside = 1 - offset**2
        safe = torch.where(inside > 0, inside, torch.ones_like(inside))
        return torch.where(inside > 0, safe.sqrt(), torch.zeros_like(inside))

    return program, leaf(torch, [0.2, 1.5, -2.0, 0.7])


@right_program("rendering", "soft rasteriser with a steep edge", batch=BATCH)
def _(torch):
    return lambda d: (d / 1e-4).sigmoid(), leaf(torch, [1e-5, -3e-5, 2e-4])


@right_program("simulation", "leapfrog for a hundred steps", batch=BATCH)
def _(torch):
    def program(q, p):
        for _ in range(100):
            p = p - 0.025 * q.sin()
            q = q + 0.05 * p
            p = p - 0.025 * q.sin()
        return q, p

    return program, draw(torch, 2), draw(torch, 2, seed=1)


@right_program("simulation", "steps until it is below", batch=BATCH)
def _(torch):
    def program(x):
        steps = 0
        while float(x.detach().norm()) > 0.1 and steps < 50:
            x = x - 0.3 * x.sin()
            steps += 1
        return x

    return program, draw(torch, 3)


@right_program("simulation", "event found by bisection, then one exact step", batch=BATCH)
def _(torch):
    def program(h, v):
        low, high = 0.0, 10.0
        for _ in range(80):
            t = (low + high) / 2
            if float(h.detach() + v.detach() * t - 5 * t * t) > 0:
                low = t
            else:
                high = t
        t0 = (low + high) / 2
        height = h + v * t0 - 5 * t0 * t0
        slope = (v - 10 * t0).detach()
        t = t0 - height / slope  # by the implicit function theorem
        return v - 10 * t

    return program, leaf(torch, 2.0), leaf(torch, 1.0)


@right_program("simulation", "stiff equation, implicit steps", batch=BATCH)
def _(torch):
    def program(k, y):
        for _ in range(10):
            y = y / (1 + 0.1 * k.exp())
        return y

    return program, leaf(torch, [8.0, 0.1]), leaf(torch, [1.0, -2.0])


@right_program("padding", "reflected by its own rule", batch=BATCH)
def _(torch):
    def back(ctx, g, x):
        out = g[1:-1].clone()
        out[1] += g[0]
        out[-2] += g[-1]
        return out

    F = op(torch, "Reflect", lambda x: torch.cat([x[1:2], x, x[-2:-1]]), back)
    return lambda x: F.apply(x).sin(), draw(torch, 5)


@right_program("padding", "all four ways", batch=BATCH)
def _(torch):
    pad = torch.nn.functional.pad

    def program(x):
        return sum(
            (pad(x, (1, 2), mode=mode) * (i + 1)).sin().sum()
            for i, mode in enumerate(("constant", "reflect", "replicate", "circular"))
        )

    return program, draw(torch, 1, 2, 4)


@right_program("routing", "two of four experts", batch=BATCH)
def _(torch):
    def program(x, gate):
        top, which = (x @ gate).topk(2, dim=1)
        weight = top.softmax(1)
        experts = torch.stack([x.sin(), x.cos(), x * x, x.tanh()], 1)
        chosen = experts.gather(1, which[:, :, None].expand(-1, -1, x.shape[1]))
        return (weight[:, :, None] * chosen).sum(1)

    return program, draw(torch, 3, 4), draw(torch, 4, 4, seed=1)


@right_program("routing", "load balance with a count without a graph", batch=BATCH)
def _(torch):
    def program(x):
        share = x.softmax(1)
        count = torch.nn.functional.one_hot(share.argmax(1), 3).to(x.dtype).mean(0)
        return (share.mean(0) * count).sum()

    return program, draw(torch, 5, 3)


@right_program("routing", "keys shared by heads, summed", batch=BATCH)
def _(torch):
    def back(ctx, g, q, k):
        return g * k.repeat_interleave(2, 0), (g * q).unflatten(0, (-1, 2)).sum(1)

    F = op(torch, "Grouped", lambda q, k: q * k.repeat_interleave(2, 0), back)
    return lambda q, k: F.apply(q, k), draw(torch, 4, 3), draw(torch, 2, 3, seed=1)


@right_program("special function", "scaled bessel", batch=BATCH)
def _(torch):
    return lambda x: torch.special.i0e(x) + torch.special.i1e(x), draw(torch, 5)


@right_program("special function", "far tails of the normal distribution", batch=BATCH)
def _(torch):
    return torch.special.log_ndtr, leaf(torch, [-40.0, -8.0, 0.1, 6.0])


@right_program("special function", "sinc beside zero", batch=BATCH)
def _(torch):
    return torch.sinc, leaf(torch, [1e-3, -0.02, 0.0, 0.3])


@right_program("special function", "xlogy with zeros", batch=BATCH)
def _(torch):
    y = torch.tensor([0.5, 2.0, 3.0], dtype=torch.float64)
    return lambda x: torch.special.xlogy(x, y), leaf(torch, [0.0, 1.0, -2.0])


@right_program("special function", "inverse error function near one", batch=BATCH)
def _(torch):
    return torch.erfinv, leaf(torch, [0.999999, -0.9999, 0.1])


@right_program("special function", "difference of gammas", batch=BATCH)
def _(torch):
    return lambda x: torch.lgamma(x + 0.5) - torch.lgamma(x), leaf(torch, [1e5, 3.0, 0.2])


@right_program("dynamic programming", "soft alignment", batch=BATCH)
def _(torch):
    def program(cost):
        rows = [[None] * 4 for _ in range(4)]
        for i in range(4):
            for j in range(4):
                before = [
                    rows[a][b]
                    for a, b in ((i - 1, j), (i, j - 1), (i - 1, j - 1))
                    if a >= 0 and b >= 0
                ]
                best = -0.1 * torch.logsumexp(-torch.stack(before) / 0.1, 0) if before else 0.0
                rows[i][j] = cost[i, j] + best
        return rows[3][3]

    return program, draw(torch, 4, 4)


@right_program("dynamic programming", "chain by its marginals", batch=BATCH)
def _(torch):
    def alphas(u, t):
        a = [u[0]]
        for i in range(1, len(u)):
            a.append(u[i] + (a[-1][:, None] + t).logsumexp(0))
        return a

    def back(ctx, g, u, t):
        a = alphas(u, t)
        b = [torch.zeros_like(u[0])]
        for i in range(len(u) - 1, 0, -1):
            b.insert(0, (t + u[i] + b[0]).logsumexp(1))
        z = a[-1].logsumexp(0)
        node = torch.stack([(x + y - z).exp() for x, y in zip(a, b, strict=True)])
        edge = sum((a[i - 1][:, None] + t + u[i] + b[i] - z).exp() for i in range(1, len(u)))
        return g * node, g * edge

    F = op(torch, "Chain", lambda u, t: alphas(u, t)[-1].logsumexp(0), back)
    return lambda u, t: F.apply(u, t), draw(torch, 4, 3), draw(torch, 3, 3, seed=1)


@right_program("factorisation", "cholesky by its own rule", batch=BATCH)
def _(torch):
    def back(ctx, g, a):
        lower = torch.linalg.cholesky(a)
        inner = (lower.T @ g).tril()
        inner = inner - torch.diag(inner.diagonal() / 2)
        inverse = torch.linalg.inv(lower)
        s = inverse.T @ inner @ inverse
        return (s + s.T) / 2

    F = op(torch, "Cholesky", torch.linalg.cholesky, back)

    def program(x):
        return F.apply(x @ x.T + 2 * torch.eye(3, dtype=x.dtype))

    return program, draw(torch, 3, 3)


@right_program("factorisation", "product of householder reflections", batch=BATCH)
def _(torch):
    def program(v):
        q = torch.eye(3, dtype=v.dtype)
        for row in v:
            q = q - 2 * torch.outer(q @ row, row) / (row @ row)
        return q

    return program, draw(torch, 2, 3)


@right_program("factorisation", "polar factor by iteration", batch=BATCH)
def _(torch):
    def program(x):
        y = x / x.norm()
        for _ in range(30):
            y = 1.5 * y - 0.5 * y @ y.T @ y
        return y

    return program, draw(torch, 3, 3, low=0.2)


@right_program("factorisation", "hilbert matrix solved", batch=BATCH)
def _(torch):
    def program(b):
        i = torch.arange(5, dtype=torch.float64)
        return torch.linalg.solve(1 / (i[:, None] + i + 1), b)

    return program, draw(torch, 5)


@right_program("oscillating", "a hundred thousand waves", batch=BATCH)
def _(torch):
    return lambda x: (1e5 * x).sin(), draw(torch, 3)


@right_program("oscillating", "sum of waves, each three times as fast", batch=BATCH)
def _(torch):
    return lambda x: sum((3**k * x).cos() / 2**k for k in range(12)), draw(torch, 3)


@right_program("oscillating", "wave within an envelope at its root", batch=BATCH)
def _(torch):
    return lambda x: x**2 * (1 / x).sin(), leaf(torch, [0.01, -0.003, 0.2])


@right_program("oscillating", "phase unwrapped", batch=BATCH)
def _(torch):
    def program(x):
        phase = torch.atan2(x.sin(), x.cos())
        jump = ((phase[1:] - phase[:-1]) / (2 * math.pi)).round()
        return phase[1:] - 2 * math.pi * jump.cumsum(0)

    return program, leaf(torch, [0.5, 1.9, 3.5, 4.4, 6.0, 7.7])


@right_program("smooth but not analytic", "flat at zero", batch=BATCH)
def _(torch):
    def program(x):
        safe = torch.where(x > 0, x, torch.ones_like(x))
        return torch.where(x > 0, (-1 / safe).exp(), torch.zeros_like(x))

    return program, leaf(torch, [0.05, 0.0, -0.3, 0.8])


@right_program("smooth but not analytic", "power of one and a half at zero", batch=BATCH)
def _(torch):
    return lambda x: x.abs() * (x.abs() + 1e-300).sqrt(), leaf(torch, [0.0, 1e-6, -0.4])


@right_program("smooth but not analytic", "x times its size", batch=BATCH)
def _(torch):
    return lambda x: x * x.abs(), leaf(torch, [0.0, 1e-9, -0.4])


@right_program("smooth but not analytic", "cubic spline at its knots", batch=BATCH)
def _(torch):
    def program(x):
        d = x.abs()
        near = 2 / 3 - d**2 + d**3 / 2
        far = (2 - d) ** 3 / 6
        return torch.where(d < 1, near, torch.where(d < 2, far, torch.zeros_like(d)))

    return program, leaf(torch, [0.0, 1.0, -2.0, 1.0000001, 0.3])


@right_program("unusual program", "state that cannot be copied", batch=BATCH)
def _(torch):
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lock, self.local = threading.Lock(), threading.local()
            self.w = torch.nn.Parameter(draw(torch, 3).detach())

        def forward(self, x):
            with self.lock:
                return x * self.w

    return Layer(), draw(torch, 3, seed=1)


@right_program("unusual program", "scale from a context variable", batch=BATCH)
def _(torch):
    scale = contextvars.ContextVar("scale", default=2.0)

    def program(x):
        token = scale.set(3.0)
        try:
            return x.sin() * scale.get()
        finally:
            scale.reset(token)

    return program, draw(torch, 4)


@right_program("unusual program", "dataclass in and out", batch=BATCH)
def _(torch):
    @dataclass
    class Pair:
        a: object
        b: object

    def program(x):
        pair = Pair(x.sin(), x.cos())
        return {"pair": (pair.a, pair.b), "size": len(x)}

    return program, draw(torch, 4)


@right_program("unusual program", "one tensor for two arguments", batch=BATCH)
def _(torch):
    x = draw(torch, 4)
    return lambda a, b: a * b.sin(), x, x


@right_program("unusual program", "metrics in inference mode", batch=BATCH)
def _(torch):
    seen = []

    def program(x):
        y = x.exp() * x
        with torch.inference_mode():
            seen.append(float((y > 1).sum()))
        return y

    return program, draw(torch, 4)


@right_program("unusual program", "bound method of a partial", batch=BATCH)
def _(torch):
    class Model:
        def __init__(self):
            self.w = draw(torch, 4, seed=1)

        def energy(self, x, *, power):
            return (x * self.w).abs() ** power

    return functools.partial(Model().energy, power=3), draw(torch, 4)


@right_program("unusual program", "recursion and an exit stack", batch=BATCH)
def _(torch):
    def depth(x, n):
        return x if n == 0 else depth(x.sin() + x, n - 1) * 0.9

    def program(x):
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.enable_grad())
            return depth(x, 6)

    return program, draw(torch, 3)


@right_program("unusual program", "parameters made at the first call", batch=BATCH)
def _(torch):
    layer = torch.nn.LazyLinear(2).double()
    layer(torch.zeros(1, 3, dtype=torch.float64))
    return lambda x: layer(x).tanh(), draw(torch, 4, 3)


@right_program("unusual program", "seconds since 1970", batch=BATCH)
def _(torch):
    def program(t):
        return (t - 1.7e9).sin()

    return program, leaf(torch, [1.7e9 + 0.5, 1.7e9 + 2.25])


@right_program("unusual program", "order of addition by thread", batch=BATCH)
def _(torch):
    def program(x):
        with ThreadPoolExecutor(4) as pool:
            return sum(pool.map(lambda i: (x * i).sin(), range(1, 5)))

    return program, draw(torch, 4)


@right_program("optional input", "bias left out", batch=BATCH)
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
            out = (g * w * ctx.scale, g * x * ctx.scale, g if ctx.has_bias else None)
            return (*out, None)

    def program(x, w):
        return Affine.apply(x, w) + Affine.apply(x, w, w * 2, 0.5)

    return program, draw(torch, 4), draw(torch, 4, seed=1)


@right_program("optional input", "flag decides what is differentiated", batch=BATCH)
def _(torch):
    class Either(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, flip):
            ctx.flip = flip
            ctx.save_for_backward(x)
            return x.cos() if flip else x.sin()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return (-g * x.sin() if ctx.flip else g * x.cos()), None

    return lambda x: Either.apply(x, True) * Either.apply(x, False), draw(torch, 4)


@right_program("guard", "clamped alike in both directions", batch=BATCH)
def _(torch):
    def back(ctx, g, a, b):
        low = b.clamp(min=0.5)
        return g / low, torch.where(b > 0.5, -g * a / low**2, torch.zeros_like(b))

    F = op(torch, "Ratio", lambda a, b: a / b.clamp(min=0.5), back)
    return lambda a, b: F.apply(a, b), draw(torch, 6), draw(torch, 6, seed=3)


@right_program("guard", "nothing to be cleaned", batch=BATCH)
def _(torch):
    F = op(
        torch,
        "Cleaned",
        torch.exp,
        lambda ctx, g, x: torch.nan_to_num(g * x.exp(), posinf=1e300, neginf=-1e300),
    )
    return lambda x: F.apply(x), draw(torch, 4)


@right_program("own memory", "workspace copied before it is handed on", batch=BATCH)
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
            key = (tuple(x.shape), x.dtype, threading.get_ident())
            out = buffers.setdefault(key, torch.empty_like(x))
            out.copy_(2 * x * g)
            return out.clone()

    return lambda x: Workspace.apply(x) + Workspace.apply(x * 2), draw(torch, 4)
