"""Losses with their gradient by hand, as speech, vision and ranking code has them."""

from __future__ import annotations

from typing import Any

from .both_ways import function

torch: Any = None  # bound to the engine in each formula
KIND = "fused loss"
LOGITS = (4, 5)


def soft(x: Any) -> Any:
    e = (x - x.detach().max(1, keepdim=True)[0]).exp()
    return e / e.sum(1, keepdim=True)


def hot(x: Any) -> Any:
    rows, classes = x.shape
    eye = (x.detach() * 0).tolist()
    for i in range(rows):
        eye[i][(2 * i + 1) % classes] = 1.0
    return x.new_tensor(eye)


function(
    KIND,
    "cross entropy",
    lambda x: -(torch.log(soft(x)) * hot(x)).sum() / x.shape[0],
    lambda ctx, g, x: g * (soft(x) - hot(x)) / x.shape[0],
    {
        "batch forgotten": lambda ctx, g, x: g * (soft(x) - hot(x)),
        "softmax of columns": lambda ctx, g, x: g * (soft(x.t()).t() - hot(x)) / x.shape[0],
        "target twice": lambda ctx, g, x: g * (soft(x) - 2 * hot(x)) / x.shape[0],
        "incoming ignored": lambda ctx, g, x: (soft(x) - hot(x)) / x.shape[0],
    },
    LOGITS,
    settings="twice single transposed large",
)
function(
    KIND,
    "label smoothing",
    lambda x: -(torch.log(soft(x)) * (0.9 * hot(x) + 0.1 / x.shape[1])).sum(),
    lambda ctx, g, x: g * (soft(x) - 0.9 * hot(x) - 0.1 / x.shape[1]),
    {
        "smoothing forgotten": lambda ctx, g, x: g * (soft(x) - hot(x)),
        "not spread": lambda ctx, g, x: g * (soft(x) - 0.9 * hot(x) - 0.1),
        "target not lowered": lambda ctx, g, x: g * (soft(x) - hot(x) - 0.1 / x.shape[1]),
    },
    LOGITS,
)
function(
    KIND,
    "focal",
    lambda p: (-((1 - p) ** 2) * torch.log(p)).sum(),
    lambda ctx, g, p: g * (2 * (1 - p) * torch.log(p) - (1 - p) ** 2 / p),
    {
        "weight frozen": lambda ctx, g, p: g * (-((1 - p) ** 2) / p),
        "sign of the weight's": lambda ctx, g, p: g * (-2 * (1 - p) * torch.log(p) - (1 - p) ** 2 / p),
        "power kept": lambda ctx, g, p: g * (2 * (1 - p) ** 2 * torch.log(p) - (1 - p) ** 2 / p),
    },
    (3, 3),
    low=0.1, high=0.9,
)  # fmt: skip
function(
    KIND,
    "dice",
    lambda p, t: 1 - 2 * (p * t).sum() / (p.sum() + t.sum()),
    lambda ctx, g, p, t: (-2 * g * (t * (p.sum() + t.sum()) - (p * t).sum()) / (p.sum() + t.sum()) ** 2,
                          -2 * g * (p * (p.sum() + t.sum()) - (p * t).sum()) / (p.sum() + t.sum()) ** 2),
    {
        "denominator frozen": lambda ctx, g, p, t: (-2 * g * t / (p.sum() + t.sum()), -2 * g * p / (p.sum() + t.sum())),
        "not squared": lambda ctx, g, p, t: (-2 * g * (t * (p.sum() + t.sum()) - (p * t).sum()) / (p.sum() + t.sum()),
                          -2 * g * (p * (p.sum() + t.sum()) - (p * t).sum()) / (p.sum() + t.sum())),
        "target's for input's": lambda ctx, g, p, t: (-2 * g * (p * (p.sum() + t.sum()) - (p * t).sum()) / (p.sum() + t.sum()) ** 2,
                          -2 * g * (t * (p.sum() + t.sum()) - (p * t).sum()) / (p.sum() + t.sum()) ** 2),
    },
    (2, 4), (2, 4),
    low=0.1, high=0.9,
)  # fmt: skip
function(
    KIND,
    "hinge of pairs",
    lambda a, b: (1 - a + b).clamp(min=0).sum(),
    lambda ctx, g, a, b: (-g * (1 - a + b > 0).to(a.dtype), g * (1 - a + b > 0).to(a.dtype)),
    {
        "margin forgotten": lambda ctx, g, a, b: (-g * (b > a).to(a.dtype), g * (b > a).to(a.dtype)),
        "both pushed down": lambda ctx, g, a, b: (-g * (1 - a + b > 0).to(a.dtype), -g * (1 - a + b > 0).to(a.dtype)),
        "always on": lambda ctx, g, a, b: (-g + 0 * a, g + 0 * b),
    },
    (16,), (16,),
    settings="twice single",
    low=-2.0, high=2.0,
)  # fmt: skip
function(
    KIND,
    "log cosh",
    lambda x, y: torch.log(torch.cosh(x - y)).mean(),
    lambda ctx, g, x, y: (g * torch.tanh(x - y) / x.numel(), -g * torch.tanh(x - y) / x.numel()),
    {
        "sinh": lambda ctx, g, x, y: (g * torch.sinh(x - y) / x.numel(), -g * torch.sinh(x - y) / x.numel()),
        "count of rows": lambda ctx, g, x, y: (g * torch.tanh(x - y) / x.shape[0], -g * torch.tanh(x - y) / x.shape[0]),
        "same sign": lambda ctx, g, x, y: (g * torch.tanh(x - y) / x.numel(), g * torch.tanh(x - y) / x.numel()),
    },
    (3, 4), (3, 4),
    settings="twice single transposed small",
)  # fmt: skip
function(
    KIND,
    "gaussian likelihood",
    lambda m, v: (0.5 * torch.log(v) + 0.5 * (m - 0.3) ** 2 / v).sum(),
    lambda ctx, g, m, v: (g * (m - 0.3) / v, g * (0.5 / v - 0.5 * (m - 0.3) ** 2 / (v * v))),
    {
        "log's half forgotten": lambda ctx, g, m, v: (g * (m - 0.3) / v, g * (1 / v - 0.5 * (m - 0.3) ** 2 / (v * v))),
        "variance as deviation": lambda ctx, g, m, v: (g * (m - 0.3) / v, g * (1 / v - (m - 0.3) ** 2 / v**3)),
        "mean not divided": lambda ctx, g, m, v: (g * (m - 0.3), g * (0.5 / v - 0.5 * (m - 0.3) ** 2 / (v * v))),
    },
    (4,), (4,),
    low=0.2, high=1.5,
    settings="twice single",
)  # fmt: skip
function(
    KIND,
    "divergence of gaussians",
    lambda m, s: 0.5 * (m * m + s.exp() - 1 - s).sum(),
    lambda ctx, g, m, s: (g * m, 0.5 * g * (s.exp() - 1)),
    {
        "not halved": lambda ctx, g, m, s: (g * m, g * (s.exp() - 1)),
        "deviation for log variance": lambda ctx, g, m, s: (g * m, g * (s - 1 / s)),
        "one forgotten": lambda ctx, g, m, s: (g * m, 0.5 * g * s.exp()),
    },
    (2, 3), (2, 3),
    settings="twice single transposed small",
)  # fmt: skip
function(
    KIND,
    "contrastive",
    lambda a, b: -torch.log(soft(a @ b.t()).diagonal()).sum(),
    lambda ctx, g, a, b: (g * (soft(a @ b.t()) - torch.eye(a.shape[0], dtype=a.dtype)) @ b,
                          g * (soft(a @ b.t()) - torch.eye(a.shape[0], dtype=a.dtype)).t() @ a),
    {
        "not transposed": lambda ctx, g, a, b: (g * (soft(a @ b.t()) - torch.eye(a.shape[0], dtype=a.dtype)) @ b,
                          g * (soft(a @ b.t()) - torch.eye(a.shape[0], dtype=a.dtype)) @ a),
        "positives only": lambda ctx, g, a, b: (-g * b, -g * a),
        "keys frozen": lambda ctx, g, a, b: (g * (soft(a @ b.t()) - torch.eye(a.shape[0], dtype=a.dtype)) @ b, None),
    },
    (3, 2), (3, 2),
)  # fmt: skip
