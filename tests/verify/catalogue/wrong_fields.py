"""Wrong gradients from the fields people write kernels for: graphs, rendering, simulation, routing, statistics."""

from __future__ import annotations

import math

from .rows import wrong_program
from .table import draw, leaf, op

BATCH = "fifth"


@wrong_program("segments", "mean not divided by the count", "SegmentMean", batch=BATCH)
def _(torch):
    owner = torch.tensor([0, 0, 1, 2, 2, 2])

    def forward(x):
        count = torch.tensor([2.0, 1.0, 3.0], dtype=x.dtype)
        return torch.zeros(3, dtype=x.dtype).index_add(0, owner, x) / count

    F = op(torch, "SegmentMean", forward, lambda ctx, g, x: g[owner])
    return lambda x: F.apply(x.sin()), draw(torch, 6)


@wrong_program("segments", "softmax summed over all segments", "SegmentSoftmax", batch=BATCH)
def _(torch):
    owner = torch.tensor([0, 0, 1, 1, 1])

    def forward(ctx, x):
        e = x.exp()
        total = torch.zeros(2, dtype=x.dtype).index_add(0, owner, e)
        ctx.y = e / total[owner]
        return ctx.y

    F = op(torch, "SegmentSoftmax", forward, lambda ctx, g, x: ctx.y * (g - (g * ctx.y).sum()))
    return lambda x: F.apply(x) * 2, draw(torch, 5)


@wrong_program("segments", "messages sent back along the edge", "Propagate", batch=BATCH)
def _(torch):
    source, target = torch.tensor([0, 1, 2, 2]), torch.tensor([1, 2, 0, 1])

    def forward(x):
        return torch.zeros_like(x).index_add(0, target, x[source])

    def back(ctx, g, x):
        return torch.zeros_like(x).index_add(0, target, g[source])

    F = op(torch, "Propagate", forward, back)
    return lambda x: F.apply(x).tanh(), draw(torch, 3, 2)


@wrong_program("segments", "maximum to the first of each segment", "SegmentMax", batch=BATCH)
def _(torch):
    def forward(x):
        return torch.stack([x[:3].max(), x[3:].max()])

    def back(ctx, g, x):
        out = torch.zeros_like(x)
        out[0], out[3] = g[0], g[1]
        return out

    F = op(torch, "SegmentMax", forward, back)
    return lambda x: F.apply(x) ** 2, leaf(torch, [0.3, 1.2, -0.5, 0.1, 0.9])


@wrong_program("rendering", "transmittance taken for a constant", "Composite", batch=BATCH)
def _(torch):
    def weights(a):
        through = torch.cat([torch.ones(1, dtype=a.dtype), (1 - a).cumprod(0)[:-1]])
        return a * through, through

    def back(ctx, g, a, c):
        w, through = weights(a)
        return g * through * c, g * w

    F = op(torch, "Composite", lambda a, c: (weights(a)[0] * c).sum(), back)
    return lambda a, c: F.apply(a.sigmoid(), c), draw(torch, 5), draw(torch, 5, seed=1)


@wrong_program("rendering", "density not scaled by the step", "Alpha", batch=BATCH)
def _(torch):
    F = op(
        torch,
        "Alpha",
        lambda s, d: 1 - (-s * d).exp(),
        lambda ctx, g, s, d: (g * (-s * d).exp(), g * s * (-s * d).exp()),
    )
    return (
        lambda s, d: F.apply(s.exp(), d.exp()),
        draw(torch, 4),
        draw(torch, 4, seed=1),
    )


@wrong_program("rendering", "splat's conic symmetrised twice", "Splat", batch=BATCH)
def _(torch):
    def forward(p, a, b, c):
        return (-0.5 * (a * p[:, 0] ** 2 + c * p[:, 1] ** 2) - b * p[:, 0] * p[:, 1]).exp()

    def back(ctx, g, p, a, b, c):
        x, y = p[:, 0], p[:, 1]
        e = g * forward(p, a, b, c)
        gp = torch.stack([-e * (a * x + b * y), -e * (b * x + c * y)], 1)
        return (
            gp,
            (-0.5 * e * x * x).sum(),
            (-0.5 * e * x * y).sum(),
            (-0.5 * e * y * y).sum(),
        )

    F = op(torch, "Splat", forward, back)
    return (
        lambda p, a, b, c: F.apply(p, a, b, c),
        draw(torch, 5, 2),
        leaf(torch, 1.3),
        leaf(torch, 0.2),
        leaf(torch, 0.9),
    )


@wrong_program("rendering", "perspective divide forgets the depth", "Project", batch=BATCH)
def _(torch):
    def back(ctx, g, p):
        z = p[:, 2:]
        return torch.cat([g / z, torch.zeros_like(z)], 1)

    F = op(torch, "Project", lambda p: p[:, :2] / p[:, 2:], back)
    return lambda p: F.apply(p + 3), draw(torch, 4, 3)


@wrong_program("padding", "reflected edge counted once", "Reflect", batch=BATCH)
def _(torch):
    F = op(
        torch,
        "Reflect",
        lambda x: torch.cat([x[1:2], x, x[-2:-1]]),
        lambda ctx, g, x: g[1:-1].clone(),
    )
    return lambda x: F.apply(x).sin(), draw(torch, 5)


@wrong_program("padding", "replicated corner gets the neighbour's", "Replicate", batch=BATCH)
def _(torch):
    def back(ctx, g, x):
        out = g[2:-2].clone()
        out[0] += g[0] + g[1]
        out[-1] += g[-1]
        return out

    F = op(
        torch,
        "Replicate",
        lambda x: torch.cat([x[:1], x[:1], x, x[-1:], x[-1:]]),
        back,
    )
    return lambda x: F.apply(x).exp(), draw(torch, 4)


@wrong_program("padding", "circular wrap folded to the same end", "Circular", batch=BATCH)
def _(torch):
    def back(ctx, g, x):
        out = g[1:-1].clone()
        out[0] += g[0]
        out[-1] += g[-1]
        return out

    F = op(torch, "Circular", lambda x: torch.cat([x[-1:], x, x[:1]]), back)
    return lambda x: (F.apply(x) * 2).tanh(), draw(torch, 5)


@wrong_program("simulation", "leapfrog undone with half the kick", "Leapfrog", batch=BATCH)
def _(torch):
    dt = 0.1

    def forward(q, p):
        p = p - 0.5 * dt * q**3
        q = q + dt * p
        return torch.stack([q, p - 0.5 * dt * q**3])

    def back(ctx, g, q, p):
        half = p - 0.5 * dt * q**3
        late = q + dt * half
        gq = g[0] - 0.5 * dt * 3 * late**2 * g[1]
        gp = g[1] + dt * gq
        return gq - dt * 3 * q**2 * gp, gp

    F = op(torch, "Leapfrog", forward, back)
    return lambda q, p: F.apply(q, p), draw(torch, 3), draw(torch, 3, seed=1)


@wrong_program("simulation", "diffusion's boundary not transposed", "Diffuse", batch=BATCH)
def _(torch):
    def forward(u):
        left = torch.cat([torch.zeros(1, dtype=u.dtype), u[:-1]])  # cold on the left
        right = torch.cat([u[1:], u[-1:]])  # insulated on the right
        return u + 0.2 * (left - 2 * u + right)

    def back(ctx, g, u):
        left = torch.cat([torch.zeros(1, dtype=u.dtype), g[:-1]])
        right = torch.cat([g[1:], torch.zeros(1, dtype=u.dtype)])
        return g + 0.2 * (left - 2 * g + right)

    F = op(torch, "Diffuse", forward, back)
    return lambda u: F.apply(F.apply(u)), draw(torch, 5)


@wrong_program("simulation", "time of impact frozen", "Bounce", batch=BATCH)
def _(torch):
    def forward(h, v):
        t = h / v
        return -0.8 * v * (1 - t)

    def back(ctx, g, h, v):
        return torch.zeros_like(h), -0.8 * g * (1 - h / v)

    F = op(torch, "Bounce", forward, back)
    return lambda h, v: F.apply(h.exp(), v.exp() + 1), draw(torch, 3), draw(torch, 3, seed=1)


@wrong_program("routing", "gate's gradient lost", "Route", batch=BATCH)
def _(torch):
    def forward(x, gate):
        best = gate.argmax(1)
        weight = gate.softmax(1).gather(1, best[:, None])
        return weight * torch.where(best[:, None] == 0, x * 2, x.sin())

    def back(ctx, g, x, gate):
        best = gate.argmax(1)
        weight = gate.softmax(1).gather(1, best[:, None])
        slope = torch.where(best[:, None] == 0, torch.full_like(x, 2.0), x.cos())
        return g * weight * slope, torch.zeros_like(gate)

    F = op(torch, "Route", forward, back)
    return lambda x, gate: F.apply(x, gate), draw(torch, 4, 3), draw(torch, 4, 2, seed=1)


@wrong_program("routing", "shared heads not summed", "Grouped", batch=BATCH)
def _(torch):
    def forward(q, k):
        return q * k.repeat_interleave(2, 0)

    def back(ctx, g, q, k):
        return g * k.repeat_interleave(2, 0), (g * q)[::2]

    F = op(torch, "Grouped", forward, back)
    return lambda q, k: F.apply(q, k), draw(torch, 4, 3), draw(torch, 2, 3, seed=1)


@wrong_program("routing", "soft cap not differentiated", "SoftCap", batch=BATCH)
def _(torch):
    F = op(torch, "SoftCap", lambda x: 5 * (x / 5).tanh(), lambda ctx, g, x: g)
    return lambda x: F.apply(x * 3).softmax(-1), draw(torch, 3, 4)


@wrong_program("routing", "dropped tokens keep their gradient", "Capacity", batch=BATCH)
def _(torch):
    def forward(x):
        kept = torch.arange(len(x)) < 3
        return torch.where(kept[:, None], x * x, torch.zeros_like(x))

    F = op(torch, "Capacity", forward, lambda ctx, g, x: 2 * x * g)
    return lambda x: F.apply(x), draw(torch, 5, 2)


@wrong_program("special function", "digamma from its series", "LogGamma", batch=BATCH)
def _(torch):
    F = op(torch, "LogGamma", torch.lgamma, lambda ctx, g, x: g * (x.log() - 0.5 / x))
    return lambda x: F.apply(x.exp() + 2), draw(torch, 4)


@wrong_program("special function", "scaled bessel forgets its scale", "BesselE", batch=BATCH)
def _(torch):
    F = op(torch, "BesselE", torch.special.i0e, lambda ctx, g, x: g * torch.special.i1e(x))
    return lambda x: F.apply(x), draw(torch, 4)


@wrong_program("special function", "sinc's two terms exchanged", "Sinc", batch=BATCH)
def _(torch):
    def back(ctx, g, x):
        t = math.pi * x
        return g * (t.sin() - t * t.cos()) / (t * x)

    F = op(torch, "Sinc", torch.sinc, back)
    return lambda x: F.apply(x), draw(torch, 4)


@wrong_program("special function", "inverse error function, square left out", "ErfInv", batch=BATCH)
def _(torch):
    F = op(
        torch,
        "ErfInv",
        torch.erfinv,
        lambda ctx, g, x: g * math.sqrt(math.pi) / 2 * torch.erfinv(x).exp(),
    )
    return lambda x: F.apply(x.tanh() * 0.7), draw(torch, 4)


@wrong_program("table", "slope of the next cell", "Lookup", batch=BATCH)
def _(torch):
    table = torch.tensor([0.0, 1.0, 0.5, 2.0, -1.0, 0.3], dtype=torch.float64)

    def forward(x):
        cell = x.floor().long()
        return table[cell] + (x - cell) * (table[cell + 1] - table[cell])

    def back(ctx, g, x):
        cell = x.floor().long().clamp(0, 3) + 1
        return g * (table[cell + 1] - table[cell])

    F = op(torch, "Lookup", forward, back)
    return lambda x: F.apply(x), leaf(torch, [0.3, 1.6, 2.2])


@wrong_program("table", "colliding cells overwrite", "HashGrid", batch=BATCH)
def _(torch):
    slots = torch.tensor([0, 2, 0, 1, 2])

    def back(ctx, g, t):
        out = torch.zeros_like(t)
        for i, slot in enumerate(slots.tolist()):
            out[slot] = g[i]
        return out

    F = op(torch, "HashGrid", lambda t: t[slots], back)
    return lambda t: F.apply(t).sin(), draw(torch, 3)


@wrong_program("approximated", "backward by one-sided differences", "Difference", batch=BATCH)
def _(torch):
    h = 1e-4
    F = op(
        torch,
        "Difference",
        lambda x: x.sin().exp(),
        lambda ctx, g, x: g * ((x + h).sin().exp() - x.sin().exp()) / h,
    )
    return lambda x: F.apply(x), draw(torch, 4)


@wrong_program("approximated", "exact slope of a rational tanh", "FastTanh", batch=BATCH)
def _(torch):
    def forward(x):
        s = x * x
        return (
            x
            * (135135 + s * (17325 + s * (378 + s)))
            / (135135 + s * (62370 + s * (3150 + 28 * s)))
        )

    F = op(torch, "FastTanh", forward, lambda ctx, g, x: g * (1 - x.tanh() ** 2))
    return lambda x: F.apply(x * 3), draw(torch, 6)


@wrong_program("approximated", "exponential by a short series", "ShortExp", batch=BATCH)
def _(torch):
    def forward(x):
        return 1 + x + x**2 / 2 + x**3 / 6

    F = op(torch, "ShortExp", forward, lambda ctx, g, x: g * (1 + x + x**2 / 2 + x**3 / 6))
    return lambda x: F.apply(x * 0.2), draw(torch, 4)


@wrong_program("drawn in the backward", "another dropout mask", "Dropout", batch=BATCH)
def _(torch):
    F = op(
        torch,
        "Dropout",
        lambda x: x * (torch.rand(x.shape) > 0.5).to(x.dtype) * 2,
        lambda ctx, g, x: g * (torch.rand(x.shape) > 0.5).to(x.dtype) * 2,
    )
    return lambda x: F.apply(x.sin()), draw(torch, 12)


@wrong_program(
    "drawn in the backward", "stochastic rounding of the gradient", "Stochastic", batch=BATCH
)
def _(torch):
    def back(ctx, g, x):
        slope = x.cos() * g * 256
        return (slope + torch.rand(x.shape, dtype=x.dtype)).floor() / 256

    F = op(torch, "Stochastic", torch.sin, back)
    return lambda x: F.apply(x), draw(torch, 6)


@wrong_program("drawn in the backward", "noise for regularisation", "Noisy", batch=BATCH)
def _(torch):
    F = op(
        torch,
        "Noisy",
        lambda x: x.exp(),
        lambda ctx, g, x: g * x.exp() + 1e-3 * torch.randn(x.shape, dtype=x.dtype),
    )
    return lambda x: F.apply(x), draw(torch, 4)


@wrong_program("dynamic programming", "best path instead of all", "SoftPath", batch=BATCH)
def _(torch):
    def back(ctx, g, a):
        best = torch.zeros_like(a)
        best[torch.arange(len(a)), a.argmax(1)] = 1
        return g * best

    F = op(torch, "SoftPath", lambda a: a.logsumexp(1).sum(), back)
    return lambda a: F.apply(a), draw(torch, 3, 4)


@wrong_program("dynamic programming", "backward messages left out", "Chain", batch=BATCH)
def _(torch):
    def alphas(u, t):
        a = [u[0]]
        for i in range(1, len(u)):
            a.append(u[i] + (a[-1][:, None] + t).logsumexp(0))
        return torch.stack(a)

    def back(ctx, g, u, t):
        a = alphas(u, t)
        return g * a.softmax(1), torch.zeros_like(t)

    F = op(torch, "Chain", lambda u, t: alphas(u, t)[-1].logsumexp(0), back)
    return lambda u, t: F.apply(u, t), draw(torch, 4, 3), draw(torch, 3, 3, seed=1)


@wrong_program("factorisation", "cholesky without halving the diagonal", "Cholesky", batch=BATCH)
def _(torch):
    def back(ctx, g, a):
        lower = torch.linalg.cholesky(a)
        inner = (lower.T @ g).tril()
        inverse = torch.linalg.inv(lower)
        s = inverse.T @ inner @ inverse
        return (s + s.T) / 2

    F = op(torch, "Cholesky", torch.linalg.cholesky, back)

    def program(x):
        return F.apply(x @ x.T + 2 * torch.eye(3, dtype=x.dtype))

    return program, draw(torch, 3, 3)


@wrong_program("factorisation", "circulant product, conjugate left out", "Circulant", batch=BATCH)
def _(torch):
    def times(a, b):
        return torch.fft.ifft(torch.fft.fft(a) * torch.fft.fft(b)).real

    F = op(torch, "Circulant", times, lambda ctx, g, a, b: (times(g, b), times(g, a)))
    return lambda a, b: F.apply(a, b), draw(torch, 5), draw(torch, 5, seed=1)


@wrong_program("factorisation", "square root as if it commuted", "MatrixRoot", batch=BATCH)
def _(torch):
    def root(a):
        w, v = torch.linalg.eigh(a)
        return (v * w.sqrt()) @ v.T

    def back(ctx, g, a):
        inverse = torch.linalg.inv(root(a)) / 2
        return (inverse @ g + g @ inverse) / 2

    F = op(torch, "MatrixRoot", root, back)

    def program(x):
        return F.apply(x @ x.T + torch.eye(3, dtype=x.dtype))

    return program, draw(torch, 3, 3)


@wrong_program("units", "degrees for radians", "SinDegrees", batch=BATCH)
def _(torch):
    F = op(
        torch,
        "SinDegrees",
        lambda x: (x * math.pi / 180).sin(),
        lambda ctx, g, x: g * (x * math.pi / 180).cos(),
    )
    return lambda x: F.apply(x * 50), draw(torch, 4)


@wrong_program("units", "decibels of power for amplitude", "Decibel", batch=BATCH)
def _(torch):
    F = op(
        torch,
        "Decibel",
        lambda x: 20 * x.log10(),
        lambda ctx, g, x: g * 10 / (x * math.log(10)),
    )
    return lambda x: F.apply(x.exp()), draw(torch, 4)
