"""Scans, recurrences, attention and segments, as sequence models' own kernels compute them."""

from __future__ import annotations

from typing import Any

from .both_ways import function

torch: Any = None  # bound to the engine in each formula
KIND = "sequence kernel"


def back_sum(g: Any) -> Any:
    """Sums from each place to the end, along the last dimension."""
    return g.flip(-1).cumsum(-1).flip(-1)


def probs(q: Any, k: Any) -> Any:
    scores = q @ k.t() / q.shape[1] ** 0.5
    e = (scores - scores.detach().max(1, keepdim=True)[0]).exp()
    return e / e.sum(1, keepdim=True)


def through(p: Any, g: Any) -> Any:
    """Back through a softmax of rows."""
    return p * (g - (g * p).sum(1, keepdim=True))


function(
    KIND,
    "running sum",
    lambda x: x.cumsum(-1),
    lambda ctx, g, x: back_sum(g),
    {
        "forwards again": lambda ctx, g, x: g.cumsum(-1),
        "without itself": lambda ctx, g, x: back_sum(g) - g,
        "passed on": lambda ctx, g, x: g * 1.0,
    },
    (2, 5),
    settings="twice single transposed large",
)
function(
    KIND,
    "running product",
    lambda x: x.cumprod(-1),
    lambda ctx, g, x: back_sum(g * x.cumprod(-1)) / x,
    {
        "not divided": lambda ctx, g, x: back_sum(g * x.cumprod(-1)),
        "this place alone": lambda ctx, g, x: g * x.cumprod(-1) / x,
        "forwards": lambda ctx, g, x: (g * x.cumprod(-1)).cumsum(-1) / x,
    },
    (2, 4),
    settings="twice single transposed",
)
function(
    KIND,
    "running log of sums",
    lambda x: torch.log(x.exp().cumsum(-1)),
    lambda ctx, g, x: back_sum(g / x.exp().cumsum(-1)) * x.exp(),
    {
        "softmax of the whole": lambda ctx, g, x: back_sum(g) * torch.softmax(x, -1),
        "not weighted": lambda ctx, g, x: back_sum(g / x.exp().cumsum(-1)),
        "only itself": lambda ctx, g, x: g / x.exp().cumsum(-1) * x.exp(),
    },
    (2, 5),
)
function(
    KIND,
    "selective scan",
    lambda ctx, a, b: _scan(ctx, a, b),
    lambda ctx, g, a, b: _scan_back(ctx, g, a),
    {
        "decay of this step": lambda ctx, g, a, b: _scan_back(ctx, g, a, shift=0),
        "state after, not before": lambda ctx, g, a, b: _scan_back(ctx, g, a, after=True),
        "decay has no gradient": lambda ctx, g, a, b: (None, _scan_back(ctx, g, a)[1]),
    },
    (6,), (6,),
    settings="twice single small",
)  # fmt: skip
function(
    KIND,
    "attention",
    lambda q, k, v: probs(q, k) @ v,
    lambda ctx, g, q, k, v: (through(probs(q, k), g @ v.t()) @ k / q.shape[1] ** 0.5,
                             through(probs(q, k), g @ v.t()).t() @ q / q.shape[1] ** 0.5,
                             probs(q, k).t() @ g),
    {
        "not scaled": lambda ctx, g, q, k, v: (through(probs(q, k), g @ v.t()) @ k,
                             through(probs(q, k), g @ v.t()).t() @ q, probs(q, k).t() @ g),
        "softmax's sum forgotten": lambda ctx, g, q, k, v: (probs(q, k) * (g @ v.t()) @ k / q.shape[1] ** 0.5,
                             (probs(q, k) * (g @ v.t())).t() @ q / q.shape[1] ** 0.5, probs(q, k).t() @ g),
        "values not transposed": lambda ctx, g, q, k, v: (through(probs(q, k), g @ v.t()) @ k / q.shape[1] ** 0.5,
                             through(probs(q, k), g @ v.t()).t() @ q / q.shape[1] ** 0.5, probs(q, k) @ g),
        "keys for queries": lambda ctx, g, q, k, v: (through(probs(q, k), g @ v.t()) @ q / q.shape[1] ** 0.5,
                             through(probs(q, k), g @ v.t()).t() @ k / q.shape[1] ** 0.5, probs(q, k).t() @ g),
    },
    (3, 2), (3, 2), (3, 2),
    settings="twice single transposed",
)  # fmt: skip
function(
    KIND,
    "rotary",
    lambda x, t: torch.stack([x[:, 0] * t.cos() - x[:, 1] * t.sin(), x[:, 0] * t.sin() + x[:, 1] * t.cos()], 1),
    lambda ctx, g, x, t: (
        torch.stack([g[:, 0] * t.cos() + g[:, 1] * t.sin(), -g[:, 0] * t.sin() + g[:, 1] * t.cos()], 1),
        g[:, 0] * (-x[:, 0] * t.sin() - x[:, 1] * t.cos()) + g[:, 1] * (x[:, 0] * t.cos() - x[:, 1] * t.sin())),
    {
        "rotated again": lambda ctx, g, x, t: (
        torch.stack([g[:, 0] * t.cos() - g[:, 1] * t.sin(), g[:, 0] * t.sin() + g[:, 1] * t.cos()], 1),
        g[:, 0] * (-x[:, 0] * t.sin() - x[:, 1] * t.cos()) + g[:, 1] * (x[:, 0] * t.cos() - x[:, 1] * t.sin())),
        "angle of one half": lambda ctx, g, x, t: (
        torch.stack([g[:, 0] * t.cos() + g[:, 1] * t.sin(), -g[:, 0] * t.sin() + g[:, 1] * t.cos()], 1),
        g[:, 0] * (-x[:, 0] * t.sin() - x[:, 1] * t.cos())),
    },
    (4, 2), (4,),
    settings="twice single small large",
)  # fmt: skip
function(
    KIND,
    "segment means",
    lambda x: torch.stack([x[:2].mean(0), x[2:3].mean(0), x[3:].mean(0)]),
    lambda ctx, g, x: torch.cat([g[:1] / 2, g[:1] / 2, g[1:2], g[2:] / 3, g[2:] / 3, g[2:] / 3]),
    {
        "not divided": lambda ctx, g, x: torch.cat([g[:1], g[:1], g[1:2], g[2:], g[2:], g[2:]]),
        "divided by the segments": lambda ctx, g, x: torch.cat([g[:1], g[:1], g[1:2], g[2:], g[2:], g[2:]]) / 3,
        "segment of one lost": lambda ctx, g, x: torch.cat([g[:1] / 2, g[:1] / 2, 0 * g[1:2], g[2:] / 3, g[2:] / 3, g[2:] / 3]),
    },
    (6, 2),
    settings="twice single transposed small large",
)  # fmt: skip
function(
    KIND,
    "gated cell",
    lambda x, h, z: torch.sigmoid(z) * h + (1 - torch.sigmoid(z)) * torch.tanh(x),
    lambda ctx, g, x, h, z: (g * (1 - torch.sigmoid(z)) * (1 - torch.tanh(x) ** 2), g * torch.sigmoid(z),
        g * (h - torch.tanh(x)) * torch.sigmoid(z) * (1 - torch.sigmoid(z))),
    {
        "gate sees the state alone": lambda ctx, g, x, h, z: (g * (1 - torch.sigmoid(z)) * (1 - torch.tanh(x) ** 2), g * torch.sigmoid(z),
        g * h * torch.sigmoid(z) * (1 - torch.sigmoid(z))),
        "gates exchanged": lambda ctx, g, x, h, z: (g * torch.sigmoid(z) * (1 - torch.tanh(x) ** 2), g * (1 - torch.sigmoid(z)),
        g * (h - torch.tanh(x)) * torch.sigmoid(z) * (1 - torch.sigmoid(z))),
        "candidate not squashed": lambda ctx, g, x, h, z: (g * (1 - torch.sigmoid(z)), g * torch.sigmoid(z),
        g * (h - torch.tanh(x)) * torch.sigmoid(z) * (1 - torch.sigmoid(z))),
        "state cut": lambda ctx, g, x, h, z: (g * (1 - torch.sigmoid(z)) * (1 - torch.tanh(x) ** 2), None,
        g * (h - torch.tanh(x)) * torch.sigmoid(z) * (1 - torch.sigmoid(z))),
    },
    (2, 3), (2, 3), (2, 3),
    settings="twice single transposed",
)  # fmt: skip
function(
    KIND,
    "causal mean",
    lambda x: x.cumsum(0) / torch.arange(1, x.shape[0] + 1, dtype=x.dtype)[:, None],
    lambda ctx, g, x: (g / torch.arange(1, x.shape[0] + 1, dtype=x.dtype)[:, None]).flip(0).cumsum(0).flip(0),
    {
        "divided after": lambda ctx, g, x: g.flip(0).cumsum(0).flip(0) / torch.arange(1, x.shape[0] + 1, dtype=x.dtype)[:, None],
        "looks ahead": lambda ctx, g, x: (g / torch.arange(1, x.shape[0] + 1, dtype=x.dtype)[:, None]).cumsum(0),
        "all alike": lambda ctx, g, x: (g / x.shape[0]).flip(0).cumsum(0).flip(0),
    },
    (5, 2),
)  # fmt: skip
function(
    KIND,
    "smoothing in time",
    lambda x: torch.stack([x[0], *(0.7 * x[i] + 0.3 * x[i - 1] for i in range(1, x.shape[0]))]),
    lambda ctx, g, x: torch.cat([(g[:1] + 0.3 * g[1:2]), 0.7 * g[1:-1] + 0.3 * g[2:], 0.7 * g[-1:]]),
    {
        "first as the others": lambda ctx, g, x: torch.cat([(0.7 * g[:1] + 0.3 * g[1:2]), 0.7 * g[1:-1] + 0.3 * g[2:], 0.7 * g[-1:]]),
        "other direction": lambda ctx, g, x: torch.cat([g[:1], 0.7 * g[1:-1] + 0.3 * g[:-2], 0.7 * g[-1:] + 0.3 * g[-2:-1]]),
    },
    (5, 2),
)  # fmt: skip


def _scan(ctx: Any, a: Any, b: Any) -> Any:
    h, states = b[0] * 0, []
    for t in range(a.shape[0]):
        h = torch.sigmoid(a[t]) * h + b[t]
        states.append(h)
    ctx.h = [s.detach() for s in states]
    return torch.stack(states)


def _scan_back(ctx: Any, g: Any, a: Any, shift: int = 1, after: bool = False) -> Any:
    n = a.shape[0]
    decay = torch.sigmoid(a)
    carried, of_a, of_b = g[0] * 0, [], []
    for t in reversed(range(n)):
        following = t + shift
        carried = g[t] + (carried * decay[following] if following < n else carried * 0)
        before = ctx.h[t] if after else (ctx.h[t - 1] if t else ctx.h[0] * 0)
        of_b.append(carried)
        of_a.append(carried * before * decay[t] * (1 - decay[t]))
    return torch.stack(of_a[::-1]), torch.stack(of_b[::-1])
