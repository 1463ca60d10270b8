"""Activations and gates as memory-saving code writes them: one tensor saved, the slope by hand."""

from __future__ import annotations

from typing import Any

from .both_ways import function

torch: Any = None  # bound to the engine in each formula
KIND = "activation"
ROW = (3, 4)


def s(x: Any) -> Any:
    return 1 / (1 + (-x).exp())


function(
    KIND,
    "swish",
    lambda x: x * torch.sigmoid(x),
    lambda ctx, g, x: g * (s(x) + x * s(x) * (1 - s(x))),
    {
        "the gate alone": lambda ctx, g, x: g * s(x),
        "not times x": lambda ctx, g, x: g * (s(x) + s(x) * (1 - s(x))),
        "sigmoid for its complement": lambda ctx, g, x: g * (s(x) + x * s(x) * s(x)),
    },
    ROW,
    settings="twice single transposed small large",
)
function(
    KIND,
    "mish",
    lambda x: x * torch.tanh(torch.log1p(x.exp())),
    lambda ctx, g, x: g * (torch.tanh(torch.log1p(x.exp()))
                           + x * s(x) * (1 - torch.tanh(torch.log1p(x.exp())) ** 2)),
    {
        "tanh not squared": lambda ctx, g, x: g * (torch.tanh(torch.log1p(x.exp()))
                           + x * s(x) * (1 - torch.tanh(torch.log1p(x.exp())))),
        "softplus not differentiated": lambda ctx, g, x: g * (torch.tanh(torch.log1p(x.exp()))
                           + x * (1 - torch.tanh(torch.log1p(x.exp())) ** 2)),
        "second term taken off": lambda ctx, g, x: g * (torch.tanh(torch.log1p(x.exp()))
                           - x * s(x) * (1 - torch.tanh(torch.log1p(x.exp())) ** 2)),
    },
    ROW,
)  # fmt: skip
function(
    KIND,
    "gelu by tanh",
    lambda x: 0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x**3))),
    lambda ctx, g, x: g * (0.5 * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))
        + 0.5 * x * (1 - torch.tanh(0.7978845608028654 * (x + 0.044715 * x**3)) ** 2)
        * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x)),
    {
        "cube not differentiated": lambda ctx, g, x: g * (0.5 * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))
        + 0.5 * x * (1 - torch.tanh(0.7978845608028654 * (x + 0.044715 * x**3)) ** 2) * 0.7978845608028654),
        "three forgotten": lambda ctx, g, x: g * (0.5 * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))
        + 0.5 * x * (1 - torch.tanh(0.7978845608028654 * (x + 0.044715 * x**3)) ** 2)
        * 0.7978845608028654 * (1 + 0.044715 * x * x)),
        "that of erf": lambda ctx, g, x: g * (0.5 * (1 + torch.erf(x / 2**0.5)) + x * (-x * x / 2).exp() * 0.3989422804),
    },
    ROW,
)  # fmt: skip
function(
    KIND,
    "softplus with a threshold",
    lambda x: torch.where(x > 1.0, x, torch.log1p(x.exp())),
    lambda ctx, g, x: torch.where(x > 1.0, g, g * s(x)),
    {
        "sides exchanged": lambda ctx, g, x: torch.where(x > 1.0, g * s(x), g),
        "threshold of another sign": lambda ctx, g, x: torch.where(x > -1.0, g, g * s(x)),
        "sigmoid of minus x": lambda ctx, g, x: torch.where(x > 1.0, g, g * s(-x)),
    },
    ROW,
)
function(
    KIND,
    "elu from its output",
    lambda ctx, x: _kept(ctx, torch.where(x > 0, x, x.exp() - 1)),
    lambda ctx, g, x: torch.where(x > 0, g, g * (ctx.y + 1)),
    {
        "output for its slope": lambda ctx, g, x: torch.where(x > 0, g, g * ctx.y),
        "exp of the output": lambda ctx, g, x: torch.where(x > 0, g, g * ctx.y.exp()),
        "one on both sides": lambda ctx, g, x: g * 1.0,
    },
    ROW,
)
function(
    KIND,
    "gated pair",
    lambda a, b: a * torch.sigmoid(b),
    lambda ctx, g, a, b: (g * s(b), g * a * s(b) * (1 - s(b))),
    {
        "value not in the gate's": lambda ctx, g, a, b: (g * s(b), g * s(b) * (1 - s(b))),
        "gate ungated": lambda ctx, g, a, b: (g, g * a * s(b) * (1 - s(b))),
        "gate's slope squared": lambda ctx, g, a, b: (g * s(b), g * a * s(b) * (1 - s(b)) ** 2),
        "only the first": lambda ctx, g, a, b: (g * s(b), None),
    },
    ROW, ROW,
)  # fmt: skip
function(
    KIND,
    "prelu of a channel",
    lambda x, a: torch.where(x > 0, x, a * x),
    lambda ctx, g, x, a: (torch.where(x > 0, g, a * g), torch.where(x > 0, 0 * x, g * x).sum(0)),
    {
        "slope's sum over channels": lambda ctx, g, x, a: (torch.where(x > 0, g, a * g),
                                     torch.where(x > 0, 0 * x, g * x).sum() * (a * 0 + 1)),
        "slope's mean": lambda ctx, g, x, a: (torch.where(x > 0, g, a * g),
                                     torch.where(x > 0, 0 * x, g * x).mean(0)),
        "slope from the positive side": lambda ctx, g, x, a: (torch.where(x > 0, g, a * g),
                                     torch.where(x > 0, g * x, 0 * x).sum(0)),
    },
    (5, 3), (3,),
    settings="twice single small",
)  # fmt: skip
function(
    KIND,
    "squared relu",
    lambda x: x.clamp(min=0) ** 2,
    lambda ctx, g, x: 2 * g * x.clamp(min=0),
    {
        "not doubled": lambda ctx, g, x: g * x.clamp(min=0),
        "step for ramp": lambda ctx, g, x: 2 * g * (x > 0).to(x.dtype),
        "everywhere": lambda ctx, g, x: 2 * g * x,
    },
    ROW,
    settings="twice single large",
)
function(
    KIND,
    "log of one less exp",
    lambda x: torch.log(-torch.expm1(-x)),
    lambda ctx, g, x: g / torch.expm1(x),
    {
        "of minus x": lambda ctx, g, x: g / -torch.expm1(-x),
        "exp for expm1": lambda ctx, g, x: g * (-x).exp(),
        "sign": lambda ctx, g, x: -g / torch.expm1(x),
    },
    ROW,
    low=0.2, high=2.0,
    settings="twice single small",
)  # fmt: skip
function(
    KIND,
    "temperature",
    lambda x, t: x / t,
    lambda ctx, g, x, t: (g / t, -(g * x).sum() / (t * t)),
    {
        "not squared": lambda ctx, g, x, t: (g / t, -(g * x).sum() / t),
        "positive": lambda ctx, g, x, t: (g / t, (g * x).sum() / (t * t)),
        "mean for sum": lambda ctx, g, x, t: (g / t, -(g * x).mean() / (t * t)),
        "numerator forgotten": lambda ctx, g, x, t: (g / t, -g.sum() / (t * t)),
    },
    ROW, (),
    settings="twice single small",
)  # fmt: skip


def _kept(ctx: Any, y: Any) -> Any:
    ctx.y = y.detach()
    return y
