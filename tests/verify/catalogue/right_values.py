"""Right gradients at values where differences fail: at ties and jumps, in tails, beside poles, badly scaled."""

from __future__ import annotations

import math
from typing import Any

from .rows import right_program
from .table import draw, leaf

INF = float("inf")


def value(kind: str, name: str, program: Any, *inputs: Any, dtype: str = "float64") -> None:
    """A program of (torch, *inputs) on these values."""

    def build(torch: Any) -> tuple[Any, ...]:
        return lambda *xs: program(torch, *xs), *(leaf(torch, v, dtype) for v in inputs)

    right_program(kind, name)(build)


F = lambda torch: torch.nn.functional  # noqa: E731

value(
    "not finite inside",
    "masked softmax",
    lambda t, x: (x + t.tensor([0, -INF, 0, -INF], dtype=x.dtype)).softmax(-1),
    [0.3, 1.0, -0.5, 2.0],
)
value(
    "not finite inside",
    "log of sums with minus infinity",
    lambda t, x: t.cat([x, t.tensor([-INF], dtype=x.dtype)]).logsumexp(0),
    [0.3, 1.0],
)
value(
    "not finite inside",
    "masked fill before a maximum",
    lambda t, x: x.masked_fill(t.tensor([False, True, False]), -INF).max(),
    [0.3, 1.0, -0.5],
)
value(
    "not finite inside",
    "double where",
    lambda t, x: t.where(x > 0, t.where(x > 0, x, t.ones_like(x)).sqrt(), t.zeros_like(x)),
    [0.3, -1.0, 4.0],
)
value(
    "not finite inside",
    "entropy with a zero weight",
    lambda t, x: (t.special.xlogy(t.tensor([0.0, 1.0], dtype=x.dtype), x)).sum(),
    [0.5, 0.7],
)

value(
    "jump beside",
    "arc tangent at its cut",
    lambda t, y, x: t.atan2(y, x),
    [1e-9, -1e-9],
    [-1.0, -2.0],
)
value("jump beside", "remainder", lambda t, x: x % 1 * x, [3 + 1e-9, 2 - 1e-9, 0.4])
value("jump beside", "floor", lambda t, x: x.floor() * x, [3 + 1e-10, 2 - 1e-10, 0.4])
value("jump beside", "at the jump itself", lambda t, x: x.floor() * 2 + x, [3.0, 0.5])
value("jump beside", "rounded at a half", lambda t, x: x.round() + x, [0.5, 1.5, 0.2])
value("jump beside", "hard shrink", lambda t, x: F(t).hardshrink(x, 0.5), [0.5 + 1e-9, -0.5, 0.2])
value(
    "jump beside",
    "threshold",
    lambda t, x: F(t).threshold(x, 0.1, 20.0),
    [0.1 + 1e-9, 0.1 - 1e-9, 0.2],
)
value(
    "jump beside",
    "angle of a complex number",
    lambda t, x: t.complex(x, x * 0 - 1e-10).angle() * x,
    [-1.0, 2.0],
)
value("jump beside", "sign", lambda t, x: x.sign() * x.exp(), [1e-9, -1e-8, 0.5])
value(
    "jump beside",
    "looked up",
    lambda t, x: t.tensor([1.0, 5.0, 2.0], dtype=x.dtype)[x.detach().long()] * x,
    [1 + 1e-12, 0.5, 2.0],
)
value(
    "jump beside",
    "bucketed",
    lambda t, x: t.bucketize(x.detach(), t.tensor([0.0, 1.0], dtype=x.dtype)).to(x.dtype) * x,
    [1 + 1e-12, 1 - 1e-12, 0.5],
)

value("ties", "even split", lambda t, x: x.amax(), [1.0, 1.0, 0.5])
value(
    "ties",
    "sorted",
    lambda t, x: x.sort()[0] * t.tensor([1.0, 2, 3, 4], dtype=x.dtype),
    [1.0, 1.0, 0.5, 0.5],
)
value("ties", "largest two", lambda t, x: x.topk(2)[0].sum(), [1.0, 1.0, 1.0])
value(
    "ties",
    "pooling of zeros",
    lambda t, x: F(t).max_pool2d(x.clamp(min=0)[None], 2),
    [[-1.0, -2, 3, 1], [-1, -3, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]],
)
value(
    "ties",
    "dead units",
    lambda t, x, w: (x @ w).relu().sum(),
    [[0.0, 0.0], [1.0, 2.0]],
    [[1.0, -1.0], [0.5, 0.0]],
)
value("ties", "lasso at zero", lambda t, w: w.abs().sum() + (w**2).sum(), [0.0, 0.3, 0.0])
value("ties", "hinge at the margin", lambda t, x: (1 - x).clamp(min=0).sum(), [1.0, 0.5, 1.5])
value("ties", "clamped at both ends", lambda t, x: x.clamp(0.0, 1.0), [0.0, 1.0, 0.5])
value(
    "ties",
    "points that coincide",
    lambda t, x: t.cdist(x, x).sum(),
    [[0.0, 1.0], [2.0, 1.0], [0.0, 1.0]],
)
value("ties", "largest norm", lambda t, x: t.linalg.norm(x, INF), [1.0, -1.0, 0.5])
value("ties", "median of four", lambda t, x: x.median(), [1.0, 2.0, 2.0, 3.0])
value("ties", "quantile", lambda t, x: x.quantile(0.5), [1.0, 2.0, 2.0, 3.0])
value("ties", "norm at zero", lambda t, x: x.norm(), [0.0, 0.0])
value("ties", "normalised zero", lambda t, x: F(t).normalize(x, dim=1), [[0.0, 0.0], [3.0, 4.0]])
value(
    "ties",
    "interpolated at a knot",
    lambda t, x: (
        t.tensor([0.0, 2.0, 1.0], dtype=x.dtype)[x.detach().floor().long()]
        + (x - x.detach().floor())
        * t.tensor([2.0, -1.0, 0.0], dtype=x.dtype)[x.detach().floor().long()]
    ),
    [1.0, 0.5],
)

value("tail", "log of sigmoid", lambda t, x: F(t).logsigmoid(x), [-800.0, 800.0, 0.0])
value("tail", "softplus", lambda t, x: F(t).softplus(x), [-50.0, 19.9, 20.1, 700.0])
value("tail", "saturated", lambda t, x: x.tanh(), [20.0, -18.0, 9.0])
value("tail", "error function", lambda t, x: t.erfc(x), [6.0, 10.0, -4.0])
value("tail", "arc cosine near one", lambda t, x: x.acos(), [1 - 1e-9, -1 + 1e-7, 0.3])
value("tail", "power at the edge of its domain", lambda t, x: x**1.5, [0.0, 1.0])
value("tail", "logarithm near zero", lambda t, x: x.log(), [1e-300, 1e-10, 1.0])
value("tail", "root near zero", lambda t, x: x.sqrt(), [1e-20, 1e-8, 4.0])
value("tail", "reciprocal near zero", lambda t, x: 1 / x, [1e-12, -1e-6, 3.0])
value("tail", "exponential near overflow", lambda t, x: x.exp(), [700.0, -700.0, 1.0])
value("tail", "subnormal", lambda t, x: x * 3, [1e-310, 1.0])
value("tail", "square at huge", lambda t, x: x * x, [1e150, 1e-150])
value("tail", "tangent", lambda t, x: x.tan(), [math.pi / 2 - 1e-6, 0.3])
value("tail", "gamma function", lambda t, x: t.lgamma(x), [1e-5, 2.0, 170.5, 1e6])
value("tail", "products with zeros", lambda t, x: x.cumprod(0), [1.5, 0.0, 2.0, 0.0, 3.0])
value("tail", "product with two zeros", lambda t, x: x.prod(), [1.5, 0.0, 2.0, 0.0])
value(
    "tail",
    "wilkinson's polynomial",
    lambda t, x: t.stack([x - i for i in range(1, 16)]).prod(0),
    [3.3, 7.1, 12.9],
)

value(
    "badly scaled", "nine digits apart", lambda t, x: 1e9 * x[0].sin() + 3 * x[1].sin(), [0.4, 0.7]
)
value(
    "badly scaled",
    "rosenbrock",
    lambda t, x: 1e6 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2,
    [1.0, 1.0],
)
value("badly scaled", "beside ten to the eighth", lambda t, x: x.sin().sum() + 1e8, [0.4, 0.7])
value("badly scaled", "a small part of a sum", lambda t, x: 1e5 * x.sin() + x.cos(), [0.4, 0.7])
value("badly scaled", "tiny beyond float32", lambda t, x: 1e-100 * x.sin(), [0.4, 0.7])
value("badly scaled", "huge beyond float32", lambda t, x: 1e100 * x.sin(), [0.4, 0.7])
value("badly scaled", "a hundred thousand radians", lambda t, x: (1e5 * x).sin(), [0.4, 0.7])
value(
    "badly scaled",
    "nearly constant batch",
    lambda t, x: F(t).batch_norm(x, None, None, training=True),
    [[1.0, 2.0], [1.0 + 1e-7, 2.0], [1.0, 2.0 - 1e-7]],
)
value(
    "badly scaled",
    "float32 beside ten thousand",
    lambda t, x: (x.sin() + 1e4).sum(),
    [0.4, 0.7],
    dtype="float32",
)
value(
    "badly scaled",
    "float32 mean of squares",
    lambda t, x: ((x + 300) ** 2).mean() - (x + 300).mean() ** 2,
    [0.4, 0.7, 1.9],
    dtype="float32",
)
value(
    "badly scaled",
    "float32 softmax of large",
    lambda t, x: (x * 40).softmax(0),
    [0.4, 0.7, 1.9],
    dtype="float32",
)
value(
    "badly scaled",
    "float16 loss",
    lambda t, x: ((x * 3).tanh() ** 2).mean(),
    [0.4, 0.7, 1.9],
    dtype="float16",
)


@right_program("layers", "encoder layer")
def _(torch):
    torch.manual_seed(0)
    return torch.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True).double(), draw(
        torch, 2, 3, 4
    )


@right_program("layers", "encoder layer in float32 with dropout")
def _(torch):
    torch.manual_seed(0)
    return torch.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.3, batch_first=True), draw(
        torch, 2, 3, 4, dtype="float32"
    )


@right_program("layers", "gru both ways")
def _(torch):
    torch.manual_seed(0)
    return torch.nn.GRU(2, 3, bidirectional=True, num_layers=2).double(), draw(torch, 4, 1, 2)


@right_program("layers", "group norm and transposed convolution")
def _(torch):
    torch.manual_seed(0)
    n = torch.nn
    return n.Sequential(
        n.ConvTranspose2d(2, 4, 3, stride=2, groups=2), n.GroupNorm(2, 4), n.ReLU()
    ).double(), draw(torch, 1, 2, 3, 3)


@right_program("layers", "bfloat16 network")
def _(torch):
    torch.manual_seed(0)
    n = torch.nn
    return n.Sequential(n.Linear(4, 8), n.GELU(), n.Linear(8, 2)).bfloat16(), draw(
        torch, 3, 4, dtype="bfloat16"
    )


@right_program("layers", "connectionist loss")
def _(torch):
    def program(x):
        return torch.nn.functional.ctc_loss(
            x.log_softmax(-1), torch.tensor([[1, 2]]), torch.tensor([5]), torch.tensor([2])
        )

    return program, draw(torch, 5, 1, 4)


@right_program("layers", "grid sampled at the border")
def _(torch):
    def program(x, g):
        return torch.nn.functional.grid_sample(x, g, align_corners=True)

    return program, draw(torch, 1, 1, 3, 3), leaf(torch, [[[[-1.0, 1.0], [0.3, 0.9999]]]])
