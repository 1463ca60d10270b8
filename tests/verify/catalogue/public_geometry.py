"""Geometry, statistics and physics by hand: rotations, special functions, integrators, samplers."""

from __future__ import annotations

from typing import Any

from .both_ways import function

torch: Any = None  # bound to the engine in each formula
KIND = "geometry and statistics"


def cross(a: Any, b: Any) -> Any:
    return torch.stack([a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1], a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2],
                        a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]], 1)  # fmt: skip


def norm(x: Any) -> Any:
    return (x * x).sum(-1, keepdim=True).sqrt()


function(
    KIND,
    "cross product",
    lambda a, b: cross(a, b),
    lambda ctx, g, a, b: (cross(b, g), cross(g, a)),
    {
        "turned round": lambda ctx, g, a, b: (cross(g, b), cross(a, g)),
        "same order": lambda ctx, g, a, b: (cross(b, g), cross(a, g)),
        "operands exchanged": lambda ctx, g, a, b: (cross(a, g), cross(g, b)),
    },
    (2, 3), (2, 3),
    settings="twice single transposed small large",
)  # fmt: skip
function(
    KIND,
    "unit vectors",
    lambda x: x / norm(x),
    lambda ctx, g, x: (g - x * (g * x).sum(-1, keepdim=True) / norm(x) ** 2) / norm(x),
    {
        "projection forgotten": lambda ctx, g, x: g / norm(x),
        "projection only": lambda ctx, g, x: -x * (g * x).sum(-1, keepdim=True) / norm(x) ** 3,
        "norm not cubed": lambda ctx, g, x: (g - x * (g * x).sum(-1, keepdim=True)) / norm(x),
    },
    (3, 3),
    settings="twice single transposed small large",
)
function(
    KIND,
    "quaternion product",
    lambda a, b: _hamilton(a, b),
    lambda ctx, g, a, b: (_hamilton(g, _conjugate(b)), _hamilton(_conjugate(a), g)),
    {
        "not conjugated": lambda ctx, g, a, b: (_hamilton(g, b), _hamilton(a, g)),
        "order kept": lambda ctx, g, a, b: (_hamilton(_conjugate(b), g), _hamilton(g, _conjugate(a))),
        "first conjugated only": lambda ctx, g, a, b: (_hamilton(g, _conjugate(b)), _hamilton(a, g)),
    },
    (2, 4), (2, 4),
    settings="twice single transposed small",
)  # fmt: skip
function(
    KIND,
    "polar angle",
    lambda y, x: torch.atan2(y, x),
    lambda ctx, g, y, x: (g * x / (x * x + y * y), -g * y / (x * x + y * y)),
    {
        "sign": lambda ctx, g, y, x: (g * x / (x * x + y * y), g * y / (x * x + y * y)),
        "root": lambda ctx, g, y, x: (g * x / (x * x + y * y).sqrt(), -g * y / (x * x + y * y).sqrt()),
        "of atan": lambda ctx, g, y, x: (g / (1 + (y / x) ** 2), -g * y / (x * x + y * y)),
    },
    (4,), (4,),
    settings="twice single small large",
)  # fmt: skip
function(
    KIND,
    "normal distribution",
    lambda x: 0.5 * (1 + torch.erf(x / 2**0.5)),
    lambda ctx, g, x: g * (-x * x / 2).exp() / (2 * 3.141592653589793) ** 0.5,
    {
        "not scaled": lambda ctx, g, x: g * (-x * x / 2).exp(),
        "not halved": lambda ctx, g, x: g * (-x * x).exp() / (2 * 3.141592653589793) ** 0.5,
        "root of two": lambda ctx, g, x: g * (-x * x / 2).exp() / 3.141592653589793**0.5,
    },
    (2, 3),
    settings="twice single transposed small",
)
function(
    KIND,
    "entropy",
    lambda p: -(p * torch.log(p)).sum(),
    lambda ctx, g, p: -g * (torch.log(p) + 1),
    {
        "one forgotten": lambda ctx, g, p: -g * torch.log(p),
        "sign": lambda ctx, g, p: g * (torch.log(p) + 1),
        "base two": lambda ctx, g, p: -g * (torch.log2(p) + 1),
    },
    (5,),
    settings="twice single small",
    low=0.1, high=0.9,
)  # fmt: skip
function(
    KIND,
    "integrator",
    lambda x, k: _steps(x, k),
    lambda ctx, g, x, k: _steps_back(g, x, k),
    {
        "stiffness of the last step": lambda ctx, g, x, k: (_steps_back(g, x, k)[0], _steps_back(g, x, k, last=True)[1]),
        "start passed on": lambda ctx, g, x, k: (g * 1.0, _steps_back(g, x, k)[1]),
        "one step too few": lambda ctx, g, x, k: _steps_back(g, x, k, steps=3),
    },
    (3,), (),
    settings="twice single small",
)  # fmt: skip
function(
    KIND,
    "reparametrised draw",
    lambda m, s: m + torch.exp(0.5 * s) * torch.linspace(-1, 1, 4, dtype=m.dtype),
    lambda ctx, g, m, s: (g * 1.0, 0.5 * g * torch.exp(0.5 * s) * torch.linspace(-1, 1, 4, dtype=m.dtype)),
    {
        "half forgotten": lambda ctx, g, m, s: (g * 1.0, g * torch.exp(0.5 * s) * torch.linspace(-1, 1, 4, dtype=m.dtype)),
        "noise forgotten": lambda ctx, g, m, s: (g * 1.0, 0.5 * g * torch.exp(0.5 * s)),
        "variance": lambda ctx, g, m, s: (g * 1.0, 0.5 * g * torch.exp(s) * torch.linspace(-1, 1, 4, dtype=m.dtype)),
    },
    (3, 4), (3, 4),
    settings="twice single small",
)  # fmt: skip
function(
    KIND,
    "variance of rows",
    lambda x: ((x - x.mean(1, keepdim=True)) ** 2).sum(1) / (x.shape[1] - 1),
    lambda ctx, g, x: 2 * g[:, None] * (x - x.mean(1, keepdim=True)) / (x.shape[1] - 1),
    {
        "biased": lambda ctx, g, x: 2 * g[:, None] * (x - x.mean(1, keepdim=True)) / x.shape[1],
        "mean of all": lambda ctx, g, x: 2 * g[:, None] * (x - x.mean()) / (x.shape[1] - 1),
        "not centred": lambda ctx, g, x: 2 * g[:, None] * x / (x.shape[1] - 1),
    },
    (3, 4),
    settings="twice single transposed small large",
)
function(
    KIND,
    "correlation",
    lambda x, y: (x * y).sum() / ((x * x).sum() * (y * y).sum()).sqrt(),
    lambda ctx, g, x, y: (g * (y - x * (x * y).sum() / (x * x).sum()) / ((x * x).sum() * (y * y).sum()).sqrt(),
                          g * (x - y * (x * y).sum() / (y * y).sum()) / ((x * x).sum() * (y * y).sum()).sqrt()),
    {
        "norms frozen": lambda ctx, g, x, y: (g * y / ((x * x).sum() * (y * y).sum()).sqrt(), g * x / ((x * x).sum() * (y * y).sum()).sqrt()),
        "other's norm": lambda ctx, g, x, y: (g * (y - x * (x * y).sum() / (y * y).sum()) / ((x * x).sum() * (y * y).sum()).sqrt(),
                          g * (x - y * (x * y).sum() / (x * x).sum()) / ((x * x).sum() * (y * y).sum()).sqrt()),
    },
    (2, 3), (2, 3),
    settings="twice single transposed small large",
)  # fmt: skip
function(
    KIND,
    "soft threshold",
    lambda x: torch.sign(x) * (x.abs() - 0.3).clamp(min=0),
    lambda ctx, g, x: g * (x.abs() > 0.3).to(g.dtype),
    {
        "of the positive side": lambda ctx, g, x: g * (x > 0.3).to(g.dtype),
        "other threshold": lambda ctx, g, x: g * (x.abs() > 0.6).to(g.dtype),
        "signed": lambda ctx, g, x: g * torch.sign(x) * (x.abs() > 0.3).to(g.dtype),
    },
    (3, 4),
    settings="twice single transposed large",
)
function(
    KIND,
    "smooth maximum",
    lambda x: torch.log((3 * x).exp().sum(1)) / 3,
    lambda ctx, g, x: g[:, None] * torch.softmax(3 * x, 1),
    {
        "sharpness forgotten": lambda ctx, g, x: g[:, None] * torch.softmax(x, 1),
        "sharpness once more": lambda ctx, g, x: 3 * g[:, None] * torch.softmax(3 * x, 1),
        "hard": lambda ctx, g, x: g[:, None] * (x == x.max(1, keepdim=True)[0]).to(g.dtype),
    },
    (3, 4),
    settings="twice single transposed small large",
)
function(
    KIND,
    "great circle",
    lambda a, b: torch.acos((a.sin() * b.sin() + a.cos() * b.cos() * 0.5).clamp(-0.99, 0.99)),
    lambda ctx, g, a, b: _circle(g, a, b),
    {
        "root forgotten": lambda ctx, g, a, b: tuple(
            d * (1 - (a.sin() * b.sin() + a.cos() * b.cos() * 0.5) ** 2).sqrt() for d in _circle(g, a, b)),
        "sign": lambda ctx, g, a, b: tuple(-d for d in _circle(g, a, b)),
        "places exchanged": lambda ctx, g, a, b: _circle(g, a, b)[::-1],
    },
    (4,), (4,),
    settings="twice single small",
)  # fmt: skip


def _conjugate(q: Any) -> Any:
    return torch.cat([q[:, :1], -q[:, 1:]], 1)


def _hamilton(a: Any, b: Any) -> Any:
    w, x, y, z = (a[:, i] for i in range(4))
    p, q, r, s = (b[:, i] for i in range(4))
    return torch.stack([w * p - x * q - y * r - z * s, w * q + x * p + y * s - z * r,
                        w * r - x * s + y * p + z * q, w * s + x * r - y * q + z * p], 1)  # fmt: skip


def _steps(x: Any, k: Any) -> Any:
    for _ in range(4):
        x = x - 0.1 * k * x.sin()
    return x


def _steps_back(g: Any, x: Any, k: Any, steps: int = 4, last: bool = False) -> Any:
    path = [x]
    for _ in range(3):
        path.append(path[-1] - 0.1 * k * path[-1].sin())
    of_k = k * 0
    for number, at in enumerate(reversed(path[-steps:] if steps < 4 else path)):
        if number == 0 or not last:
            of_k = of_k - 0.1 * (g * at.sin()).sum()
        g = g - 0.1 * k * at.cos() * g
    return g, of_k


def _circle(g: Any, a: Any, b: Any) -> Any:
    c = a.sin() * b.sin() + a.cos() * b.cos() * 0.5
    outer = -g / (1 - c * c).sqrt()
    return (outer * (a.cos() * b.sin() - a.sin() * b.cos() * 0.5),
            outer * (a.sin() * b.cos() - a.cos() * b.sin() * 0.5))  # fmt: skip
