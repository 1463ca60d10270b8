"""Matrix functions by hand: implicit differentiation, factorisations, structured products."""

from __future__ import annotations

from typing import Any

from .both_ways import function

torch: Any = None  # bound to the engine in each formula
KIND = "matrix function"
SQUARE = (3, 3)


def inv(x: Any) -> Any:
    return torch.linalg.inv(x)


def near_identity(x: Any) -> Any:
    return torch.eye(x.shape[-1], dtype=x.dtype) * 3 + 0.4 * x


def spd(x: Any) -> Any:
    return x @ x.t() + 2 * torch.eye(x.shape[0], dtype=x.dtype)


function(
    KIND,
    "inverse",
    lambda x: inv(near_identity(x)),
    lambda ctx, g, x: -0.4 * inv(near_identity(x)).t() @ g @ inv(near_identity(x)).t(),
    {
        "not transposed": lambda ctx, g, x: -0.4 * inv(near_identity(x)) @ g @ inv(near_identity(x)),
        "one side": lambda ctx, g, x: -0.4 * inv(near_identity(x)).t() @ g,
        "positive": lambda ctx, g, x: 0.4 * inv(near_identity(x)).t() @ g @ inv(near_identity(x)).t(),
    },
    SQUARE,
    settings="twice single transposed small",
)  # fmt: skip
function(
    KIND,
    "log determinant",
    lambda x: torch.logdet(near_identity(x)),
    lambda ctx, g, x: 0.4 * g * inv(near_identity(x)).t(),
    {
        "not transposed": lambda ctx, g, x: 0.4 * g * inv(near_identity(x)),
        "of the determinant": lambda ctx, g, x: 0.4 * g * torch.det(near_identity(x)) * inv(near_identity(x)).t(),
        "matrix for inverse": lambda ctx, g, x: 0.4 * g * near_identity(x),
    },
    SQUARE,
    settings="twice single transposed small",
)  # fmt: skip
function(
    KIND,
    "solve",
    lambda a, b: inv(near_identity(a)) @ b,
    lambda ctx, g, a, b: (-0.4 * (inv(near_identity(a)).t() @ g) @ (inv(near_identity(a)) @ b).t(),
                          inv(near_identity(a)).t() @ g),
    {
        "right side not transposed": lambda ctx, g, a, b: (-0.4 * (inv(near_identity(a)).t() @ g) @ (inv(near_identity(a)) @ b).t(),
                          inv(near_identity(a)) @ g),
        "right side for solution": lambda ctx, g, a, b: (-0.4 * (inv(near_identity(a)).t() @ g) @ b.t(),
                          inv(near_identity(a)).t() @ g),
        "outer product turned": lambda ctx, g, a, b: (-0.4 * (inv(near_identity(a)) @ b) @ (inv(near_identity(a)).t() @ g).t(),
                          inv(near_identity(a)).t() @ g),
    },
    SQUARE, (3, 2),
)  # fmt: skip
function(
    KIND,
    "quadratic form",
    lambda x, a: (x @ a * x).sum(1),
    lambda ctx, g, x, a: (g[:, None] * (x @ (a + a.t())), (g[:, None] * x).t() @ x),
    {
        "symmetric taken for granted": lambda ctx, g, x, a: (2 * g[:, None] * (x @ a), (g[:, None] * x).t() @ x),
        "half": lambda ctx, g, x, a: (g[:, None] * (x @ a.t()), (g[:, None] * x).t() @ x),
        "weights on both sides": lambda ctx, g, x, a: (g[:, None] * (x @ (a + a.t())), (g[:, None] * x).t() @ (g[:, None] * x)),
    },
    (4, 3), SQUARE,
)  # fmt: skip
function(
    KIND,
    "fixed point",
    lambda ctx, x, w: _fixed(ctx, x, w),
    lambda ctx, g, x, w: _implicit(ctx, g, w, 60),
    {
        "one step only": lambda ctx, g, x, w: _implicit(ctx, g, w, 0),
        "three steps": lambda ctx, g, x, w: _implicit(ctx, g, w, 3),
        "transposed": lambda ctx, g, x, w: _implicit(ctx, g, w, 60, turned=True),
    },
    (3,), SQUARE,
    settings="twice single small",
    low=-0.4, high=0.4,
)  # fmt: skip
function(
    KIND,
    "kronecker by vectors",
    lambda a, b: (a[:, None] * b[None, :]).reshape(-1),
    lambda ctx, g, a, b: (g.reshape(a.numel(), b.numel()) @ b, a @ g.reshape(a.numel(), b.numel())),
    {
        "shape turned": lambda ctx, g, a, b: (g.reshape(b.numel(), a.numel()).t() @ b, a @ g.reshape(b.numel(), a.numel()).t()),
        "summed not weighted": lambda ctx, g, a, b: (g.reshape(a.numel(), b.numel()).sum(1), a @ g.reshape(a.numel(), b.numel())),
    },
    (3,), (4,),
    settings="twice single small large",
)  # fmt: skip
function(
    KIND,
    "distances",
    lambda x, y: ((x[:, None] - y[None]) ** 2).sum(-1),
    lambda ctx, g, x, y: (2 * (g.sum(1)[:, None] * x - g @ y), 2 * (g.sum(0)[:, None] * y - g.t() @ x)),
    {
        "not doubled": lambda ctx, g, x, y: (g.sum(1)[:, None] * x - g @ y, g.sum(0)[:, None] * y - g.t() @ x),
        "own part forgotten": lambda ctx, g, x, y: (-2 * g @ y, -2 * g.t() @ x),
        "sums exchanged": lambda ctx, g, x, y: (2 * (g.sum(0)[:, None] * x - g @ y), 2 * (g.sum(1)[:, None] * y - g.t() @ x)),
    },
    (3, 2), (3, 2),
    settings="twice single transposed large",
)  # fmt: skip
function(
    KIND,
    "sandwich",
    lambda x, d: x @ (d[:, None] * x.t()),
    lambda ctx, g, x, d: ((g + g.t()) @ x * d, ((g @ x) * x).sum(0)),
    {
        "one side": lambda ctx, g, x, d: (g @ x * d, ((g @ x) * x).sum(0)),
        "diagonal over rows": lambda ctx, g, x, d: ((g + g.t()) @ x * d, ((g @ x) * x).sum() * (0 * d + 1) / d.numel()),
        "diagonal left out": lambda ctx, g, x, d: ((g + g.t()) @ x, ((g @ x) * x).sum(0)),
    },
    (4, 3), (3,),
    settings="twice single small",
)  # fmt: skip
function(
    KIND,
    "power iteration's norm",
    lambda ctx, w: _leading(ctx, w),
    lambda ctx, g, w: g * (ctx.u[:, None] * ctx.v[None]),
    {
        "the other way round": lambda ctx, g, w: g * (ctx.v[:, None] * ctx.u[None]),
        "times the value": lambda ctx, g, w: g * ctx.s * (ctx.u[:, None] * ctx.v[None]),
        "vectors twice": lambda ctx, g, w: g * (ctx.u[:, None] * ctx.v[None]) ** 2,
    },
    SQUARE,
    settings="twice single transposed",
)  # fmt: skip
function(
    KIND,
    "circulant product",
    lambda c, x: torch.stack([(torch.roll(c.flip(0), i + 1) * x).sum() for i in range(c.numel())]),
    lambda ctx, g, c, x: (torch.stack([(g * torch.roll(x, i)).sum() for i in range(c.numel())]),
                          torch.stack([(g * torch.roll(c, i)).sum() for i in range(c.numel())])),
    {
        "shifted by one": lambda ctx, g, c, x: (torch.stack([(g * torch.roll(x, i + 1)).sum() for i in range(c.numel())]),
                          torch.stack([(g * torch.roll(c, i)).sum() for i in range(c.numel())])),
        "not reversed": lambda ctx, g, c, x: (torch.stack([(g * torch.roll(x, i)).sum() for i in range(c.numel())]),
                          torch.stack([(g * torch.roll(c, -i)).sum() for i in range(c.numel())])),
    },
    (4,), (4,),
    settings="twice single",
)  # fmt: skip


def _fixed(ctx: Any, x: Any, w: Any) -> Any:
    z = x * 0
    for _ in range(80):
        z = (w @ z + x).tanh()
    ctx.z = z.detach()
    return z


def _implicit(ctx: Any, g: Any, w: Any, steps: int, turned: bool = False) -> Any:
    slope = 1 - ctx.z**2
    u = g
    for _ in range(steps):
        u = g + (w if turned else w.t()) @ (slope * u)
    u = slope * u
    return u, u[:, None] * ctx.z[None]


def _leading(ctx: Any, w: Any) -> Any:
    v = w.detach()[0] * 0 + 1
    for _ in range(3000):
        v = w.detach().t() @ (w.detach() @ v)
        v = v / (v * v).sum().sqrt()
    u = w.detach() @ v
    ctx.s = (u * u).sum().sqrt()
    ctx.u, ctx.v = u / ctx.s, v
    return (ctx.u * (w @ v)).sum()
