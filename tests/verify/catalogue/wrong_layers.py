"""Layers, losses, signals and registered operators with mistakes in their backwards."""

from __future__ import annotations

from typing import Any

from .rows import wrong_program
from .table import draw, leaf, op

_REGISTERED: dict[Any, Any] = {}


def registered(torch: Any, name: str, forward: Any, backward: Any) -> Any:
    """An operator of the engine's registry, registered once."""
    if (torch, name) in _REGISTERED:
        return _REGISTERED[torch, name]

    def run(x):
        return forward(x)

    run.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    made = torch.library.custom_op(f"catalogue::{name}", run, mutates_args=())
    made.register_autograd(
        backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs)
    )
    _REGISTERED[torch, name] = made
    return made


@wrong_program("registered operator", "twice the slope", "odd_sine|odd_sine.default")
def _(torch):
    odd = registered(
        torch, "odd_sine", lambda x: x.sin(), lambda ctx, g: 2 * g * ctx.saved_tensors[0].cos()
    )
    return lambda x: odd(x) * 1.5, draw(torch, 4)


@wrong_program(
    "registered operator",
    "sign of the cosine",
    "odd_cosine|odd_cosine.default",
)
def _(torch):
    odd = registered(
        torch, "odd_cosine", lambda x: x.cos(), lambda ctx, g: g * ctx.saved_tensors[0].sin()
    )
    return lambda x: odd(x.exp()).sum(), draw(torch, 4)


@wrong_program("layer", "weight detached", "detach", cut=True)
def _(torch):
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(draw(torch, 3, 2).detach())

        def forward(self, x):
            return (x @ self.w.detach()).tanh()

    return Layer(), draw(torch, 4, 3)


@wrong_program("layer", "first half frozen by mistake", "no_grad", cut=True)
def _(torch):
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(3, 3).double()
            self.b = torch.nn.Linear(3, 2).double()

        def forward(self, x):
            with torch.no_grad():
                h = self.a(x).tanh()
            return self.b(h)

    torch.manual_seed(0)
    return Layer(), draw(torch, 4, 3)


@wrong_program("layer", "gradient written, not returned", "Odd")
def _(torch):
    class Odd(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x @ w

        @staticmethod
        def backward(ctx, g):
            _, w = ctx.saved_tensors
            return g @ w.T, None

    return lambda x, w: Odd.apply(x, w).sin(), draw(torch, 3, 2), draw(torch, 2, 2, seed=1)


@wrong_program("layer", "group norm over all groups", "Odd")
def _(torch):
    def forward(x):
        y = x.reshape(2, 2, 3)
        return (
            (y - y.mean(-1, keepdim=True)) / (y.var(-1, unbiased=False, keepdim=True) + 1e-3).sqrt()
        ).reshape(2, 6)

    def backward(ctx, g, x):
        y, g = x.reshape(2, 1, 6), g.reshape(2, 1, 6)
        c = y - y.mean(-1, keepdim=True)
        s = (y.var(-1, unbiased=False, keepdim=True) + 1e-3).sqrt()
        n = c / s
        return ((g - g.mean(-1, keepdim=True) - n * (g * n).mean(-1, keepdim=True)) / s).reshape(
            2, 6
        )

    F = op(torch, "Odd", forward, backward)
    return lambda x: F.apply(x) * 1.25, draw(torch, 2, 6)


@wrong_program("layer", "mean over ignored targets", "Odd")
def _(torch):
    keep = [1.0, 0.0, 1.0, 1.0]

    def forward(x):
        m = torch.tensor(keep, dtype=x.dtype)
        return ((x - 1) ** 2 * m).sum() / m.sum()

    F = op(
        torch,
        "Odd",
        forward,
        lambda ctx, g, x: g * 2 * (x - 1) * torch.tensor(keep, dtype=x.dtype) / 4,
    )
    return lambda x: F.apply(x), draw(torch, 4)


@wrong_program("layer", "grouped product mixes groups", "Odd")
def _(torch):
    def forward(x, w):
        return torch.einsum("bgi,gio->bgo", x, w)

    def backward(ctx, g, x, w):
        return torch.einsum("bgo,gio->bgi", g, w), torch.einsum("bgi,bgo->gio", x.flip(1), g)

    F = op(torch, "Odd", forward, backward)
    return lambda x, w: F.apply(x, w) * 1.25, draw(torch, 3, 2, 2), draw(torch, 2, 2, 2, seed=1)


@wrong_program("layer", "heads merged in another order", "Odd")
def _(torch):
    def forward(x):
        return x.reshape(4, 2, 3).transpose(0, 1).reshape(2, 12)

    F = op(torch, "Odd", forward, lambda ctx, g, x: g.reshape(4, 6))
    return lambda x: F.apply(x).sin(), draw(torch, 4, 6)


@wrong_program("layer", "penalty of the weights forgotten", "Odd")
def _(torch):
    F = op(
        torch,
        "Odd",
        lambda y, w: (y**2).mean() + 0.05 * (w**2).sum(),
        lambda ctx, g, y, w: (2 * g * y / y.numel(), None),
    )
    return lambda x, w: F.apply(x @ w, w), draw(torch, 3, 2), draw(torch, 2, 2, seed=1)


@wrong_program("signal", "half spectrum not doubled", "Odd")
def _(torch):
    def forward(x):
        s = torch.fft.rfft(x)
        return s.real**2 + s.imag**2

    def backward(ctx, g, x):
        s = torch.fft.rfft(x)
        return torch.fft.irfft(2 * g * s, n=x.shape[-1]) * x.shape[-1]

    F = op(torch, "Odd", forward, backward)
    return lambda x: F.apply(x) * 1.25, draw(torch, 6)


@wrong_program("signal", "dilation forgotten", "Odd")
def _(torch):
    def forward(x, k):
        return k[0] * x[:-4] + k[1] * x[2:-2] + k[2] * x[4:]

    def backward(ctx, g, x, k):
        gx = torch.zeros_like(x)
        gx[:-4] += k[0] * g
        gx[1:-3] += k[1] * g
        gx[4:] += k[2] * g
        return gx, torch.stack([(g * x[:-4]).sum(), (g * x[2:-2]).sum(), (g * x[4:]).sum()])

    F = op(torch, "Odd", forward, backward)
    return lambda x, k: F.apply(x, k) * 1.25, draw(torch, 9), draw(torch, 3, seed=1)


@wrong_program("signal", "window once more", "Odd")
def _(torch):
    def window(x):
        return torch.linspace(0.1, 1, x.shape[-1], dtype=x.dtype)

    F = op(
        torch,
        "Odd",
        lambda x: torch.fft.fft(x * window(x)).real,
        lambda ctx, g, x: torch.fft.fft(g.to(torch.complex128)).real * window(x) ** 2,
    )
    return lambda x: F.apply(x) * 1.25, draw(torch, 6)


@wrong_program("signal", "corners aligned only forward", "Odd")
def _(torch):
    def places(n, m):
        return [i * (n - 1) / (m - 1) for i in range(m)], [
            (i + 0.5) * n / m - 0.5 for i in range(m)
        ]

    def matrix(torch, n, m, at, dtype):
        rows = []
        for p in at:
            p = min(max(p, 0), n - 1)
            low = min(int(p), n - 2)
            rows.append(
                [
                    1 - (p - low) if j == low else (p - low) if j == low + 1 else 0.0
                    for j in range(n)
                ]
            )
        return torch.tensor(rows, dtype=dtype)

    F = op(
        torch,
        "Odd",
        lambda x: matrix(torch, 4, 7, places(4, 7)[0], x.dtype) @ x,
        lambda ctx, g, x: matrix(torch, 4, 7, places(4, 7)[1], x.dtype).T @ g,
    )
    return lambda x: F.apply(x) * 1.25, draw(torch, 4)


@wrong_program("sparse rows", "row of the next entry", "Odd")
def _(torch):
    rows, cols = [0, 0, 1, 2], [1, 2, 0, 2]

    def forward(v, x):
        out = torch.zeros(3, dtype=v.dtype)
        return out.index_add(0, torch.tensor(rows), v * x[torch.tensor(cols)])

    def backward(ctx, g, v, x):
        r, c = torch.tensor(rows), torch.tensor(cols)
        return g[r.roll(1)] * x[c], torch.zeros(3, dtype=v.dtype).index_add(0, c, v * g[r])

    F = op(torch, "Odd", forward, backward)
    return lambda v, x: F.apply(v, x) * 1.25, draw(torch, 4), draw(torch, 3, seed=1)


@wrong_program("sparse rows", "negative index left out", "Odd")
def _(torch):
    places = [0, -1, 2]

    def backward(ctx, g, x):
        out = torch.zeros_like(x)
        for i, p in enumerate(places):
            if p >= 0:
                out[p] += g[i]
        return out

    F = op(torch, "Odd", lambda x: x[torch.tensor(places)].clone(), backward)
    return lambda x: F.apply(x).exp(), draw(torch, 5)


@wrong_program("sparse rows", "empty bag shifts the others", "Odd")
def _(torch):
    bags = [[0, 1], [], [2, 0]]

    def forward(x):
        return torch.stack([x[torch.tensor(b)].mean(0) if b else x[0] * 0 for b in bags])

    def backward(ctx, g, x):
        out = torch.zeros_like(x)
        filled = [b for b in bags if b]
        for i, b in enumerate(filled):
            for p in b:
                out[p] += g[i] / len(b)
        return out

    F = op(torch, "Odd", forward, backward)
    return lambda x: F.apply(x).sin(), draw(torch, 3, 2)


@wrong_program("not finite", "division_by_zero_then_clamped", "div|truediv|__truediv__")
def _(torch):
    def program(x):
        return (x / torch.tensor([0.0, 2.0], dtype=x.dtype)).clamp(-5, 5).sum() + x.sum()

    return program, leaf(torch, [1.0, 3.0])
