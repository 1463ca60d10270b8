"""Resampling, pooling, normalising and quantising, as vision code computes them."""

from __future__ import annotations

from typing import Any

from .both_ways import function

torch: Any = None  # bound to the engine in each formula
KIND = "image kernel"


def centred(x: Any) -> Any:
    return x - x.mean(-1, keepdim=True)


def rms(x: Any) -> Any:
    return ((x * x).mean(-1, keepdim=True) + 1e-3).sqrt()


def deviation(x: Any) -> Any:
    return ((centred(x) ** 2).mean(-1, keepdim=True) + 1e-3).sqrt()


function(
    KIND,
    "layer norm",
    lambda x, w: centred(x) / deviation(x) * w,
    lambda ctx, g, x, w: (_layer_norm(g * w, x), (g * centred(x) / deviation(x)).sum(0)),
    {
        "mean frozen": lambda ctx, g, x, w: (_layer_norm(g * w, x, mean=False), (g * centred(x) / deviation(x)).sum(0)),
        "variance frozen": lambda ctx, g, x, w: (_layer_norm(g * w, x, variance=False), (g * centred(x) / deviation(x)).sum(0)),
        "weight's of what is not normed": lambda ctx, g, x, w: (_layer_norm(g * w, x), (g * x).sum(0)),
        "weight left out": lambda ctx, g, x, w: (_layer_norm(g, x), (g * centred(x) / deviation(x)).sum(0)),
    },
    (3, 4), (4,),
    settings="twice single small large",
)  # fmt: skip
function(
    KIND,
    "root mean square norm",
    lambda x: x / rms(x),
    lambda ctx, g, x: (g - x * (g * x).mean(-1, keepdim=True) / rms(x) ** 2) / rms(x),
    {
        "sum for mean": lambda ctx, g, x: (
            (g - x * (g * x).sum(-1, keepdim=True) / rms(x) ** 2) / rms(x)
        ),
        "root once": lambda ctx, g, x: (g - x * (g * x).mean(-1, keepdim=True) / rms(x)) / rms(x),
        "norm frozen": lambda ctx, g, x: g / rms(x),
    },
    (3, 4),
    settings="twice single transposed small large",
)
function(
    KIND,
    "bilinear sample",
    lambda x, p: (1 - p) * x[:-1] + p * x[1:],
    lambda ctx, g, x, p: (torch.cat([(1 - p) * g, 0 * g[:1]]) + torch.cat([0 * g[:1], p * g]), g * (x[1:] - x[:-1])),
    {
        "weights exchanged": lambda ctx, g, x, p: (torch.cat([p * g, 0 * g[:1]]) + torch.cat([0 * g[:1], (1 - p) * g]), g * (x[1:] - x[:-1])),
        "place's sign": lambda ctx, g, x, p: (torch.cat([(1 - p) * g, 0 * g[:1]]) + torch.cat([0 * g[:1], p * g]), g * (x[:-1] - x[1:])),
        "right neighbour lost": lambda ctx, g, x, p: (torch.cat([(1 - p) * g, 0 * g[:1]]), g * (x[1:] - x[:-1])),
    },
    (6,), (5,),
    settings="twice single small",
    low=0.1, high=0.9,
)  # fmt: skip
function(
    KIND,
    "nearest upsampling",
    lambda x: x.repeat_interleave(2, 1),
    lambda ctx, g, x: g.reshape(x.shape[0], x.shape[1], 2).sum(2),
    {
        "every second": lambda ctx, g, x: g[:, ::2] * 1.0,
        "mean": lambda ctx, g, x: g.reshape(x.shape[0], x.shape[1], 2).mean(2),
        "tiled": lambda ctx, g, x: g.reshape(x.shape[0], 2, x.shape[1]).sum(1),
    },
    (2, 3),
    settings="twice single transposed small large",
)
function(
    KIND,
    "average pooling that overlaps",
    lambda x: (x[:-2] + x[1:-1] + x[2:]) / 3,
    lambda ctx, g, x: (torch.cat([g, 0 * g[:1], 0 * g[:1]]) + torch.cat([0 * g[:1], g, 0 * g[:1]])
                       + torch.cat([0 * g[:1], 0 * g[:1], g])) / 3,
    {
        "middle only": lambda ctx, g, x: torch.cat([0 * g[:1], g, 0 * g[:1]]),
        "not divided": lambda ctx, g, x: (torch.cat([g, 0 * g[:1], 0 * g[:1]]) + torch.cat([0 * g[:1], g, 0 * g[:1]])
                       + torch.cat([0 * g[:1], 0 * g[:1], g])),
        "last window lost": lambda ctx, g, x: (torch.cat([g, 0 * g[:1], 0 * g[:1]]) + torch.cat([0 * g[:1], g, 0 * g[:1]])) / 3,
    },
    (6,),
    settings="twice single small large",
)  # fmt: skip
function(
    KIND,
    "largest of windows",
    lambda x: x.reshape(x.shape[0], -1, 2).max(2)[0],
    lambda ctx, g, x: ((x.reshape(x.shape[0], -1, 2) == x.reshape(x.shape[0], -1, 2).max(2, keepdim=True)[0]).to(g.dtype)
                       * g[:, :, None]).reshape(x.shape),
    {
        "to both": lambda ctx, g, x: g.repeat_interleave(2, 1),
        "to the first": lambda ctx, g, x: torch.stack([g, 0 * g], 2).reshape(x.shape),
        "to the smallest": lambda ctx, g, x: ((x.reshape(x.shape[0], -1, 2) != x.reshape(x.shape[0], -1, 2).max(2, keepdim=True)[0]).to(g.dtype)
                       * g[:, :, None]).reshape(x.shape),
    },
    (2, 4),
    settings="twice single transposed large",
)  # fmt: skip
function(
    KIND,
    "convolution of a row",
    lambda x, w: torch.stack([(x[i : i + 3] * w).sum() for i in range(x.shape[0] - 2)]),
    lambda ctx, g, x, w: (_spread(g, w, x.shape[0]), torch.stack([(g * x[k : k + g.shape[0]]).sum() for k in range(3)])),
    {
        "kernel reversed": lambda ctx, g, x, w: (_spread(g, w.flip(0), x.shape[0]), torch.stack([(g * x[k : k + g.shape[0]]).sum() for k in range(3)])),
        "weight reversed": lambda ctx, g, x, w: (_spread(g, w, x.shape[0]), torch.stack([(g * x[2 - k : 2 - k + g.shape[0]]).sum() for k in range(3)])),
        "weight's mean": lambda ctx, g, x, w: (_spread(g, w, x.shape[0]), torch.stack([(g * x[k : k + g.shape[0]]).mean() for k in range(3)])),
    },
    (6,), (3,),
    settings="twice single small large",
)  # fmt: skip
function(
    KIND,
    "gamma correction",
    lambda x, y: x**y,
    lambda ctx, g, x, y: (g * y * x ** (y - 1), (g * x**y * torch.log(x)).sum()),
    {
        "exponent not lowered": lambda ctx, g, x, y: (g * y * x**y, (g * x**y * torch.log(x)).sum()),
        "log forgotten": lambda ctx, g, x, y: (g * y * x ** (y - 1), (g * x**y).sum()),
        "log of the exponent": lambda ctx, g, x, y: (g * y * x ** (y - 1), (g * x**y * torch.log(y)).sum()),
    },
    (2, 3), (),
    settings="twice single small",
    low=0.2, high=1.8,
)  # fmt: skip
function(
    KIND,
    "total variation",
    lambda x: ((x[1:] - x[:-1]) ** 2 + 1e-2).sqrt().sum(),
    lambda ctx, g, x: g * _variation(x),
    {
        "one neighbour": lambda ctx, g, x: g * torch.cat([0 * x[:1], (x[1:] - x[:-1]) / ((x[1:] - x[:-1]) ** 2 + 1e-2).sqrt()]),
        "not divided": lambda ctx, g, x: g * (torch.cat([0 * x[:1], x[1:] - x[:-1]]) - torch.cat([x[1:] - x[:-1], 0 * x[:1]])),
        "sign": lambda ctx, g, x: -g * _variation(x),
    },
    (5, 2),
    settings="twice single large",
)  # fmt: skip
function(
    KIND,
    "crop and pad",
    lambda x: torch.cat([0 * x[:1], x[1:-1] * 2, 0 * x[:1]]),
    lambda ctx, g, x: torch.cat([0 * g[:1], 2 * g[1:-1], 0 * g[:1]]),
    {
        "border counted": lambda ctx, g, x: 2 * g,
        "shifted": lambda ctx, g, x: torch.cat([2 * g[1:-1], 0 * g[:1], 0 * g[:1]]),
    },
    (5, 2),
    settings="twice single transposed large",
)


def _layer_norm(g: Any, x: Any, mean: bool = True, variance: bool = True) -> Any:
    normed = centred(x) / deviation(x)
    found = g
    if variance:
        found = found - normed * (g * normed).mean(-1, keepdim=True)
    if mean:
        found = found - g.mean(-1, keepdim=True)
    return found / deviation(x)


def _spread(g: Any, w: Any, n: int) -> Any:
    found = [g[0] * 0] * n
    for i in range(g.shape[0]):
        for k in range(3):
            found[i + k] = found[i + k] + g[i] * w[k]
    return torch.stack(found)


def _variation(x: Any) -> Any:
    d = x[1:] - x[:-1]
    d = d / (d * d + 1e-2).sqrt()
    return torch.cat([0 * x[:1], d]) - torch.cat([d, 0 * x[:1]])
