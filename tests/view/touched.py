"""A small program for each operation that a page can compute again: `PROGRAMS[name](engine, x, w)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Program = Callable[[Any, Any, Any], Any]
X = [[0.3, 0.8, 0.5], [0.9, 0.2, 0.6]]
OTHER = [[0.3517, 0.7131, 0.1193], [0.9531, 0.4479, 0.6523]]  # the same, changed by a reader
W = [[1.5, -0.5, 2.0], [0.25, 3.0, -1.0]]


def _weighed(f: Callable[[Any, Any], Any]) -> Program:
    """A result made one number by weights, so that every entry has another gradient."""
    return lambda torch, x, w: (f(torch, x) * w).sum()


_UNARY = (
    *(
        "neg",
        "exp",
        "expm1",
        "exp2",
        "log",
        "log2",
        "log10",
        "log1p",
        "sqrt",
        "rsqrt",
        "reciprocal",
    ),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "sigmoid", "abs", "erf"),
    *("clone", "relu"),
)
_ACTIVATIONS = {
    "log_sigmoid": "logsigmoid",
    **{name: name for name in ("leaky_relu", "elu", "silu", "gelu", "softplus")},
}


def _unary(name: str) -> Program:
    return _weighed(lambda torch, x: getattr(torch, name)(x - 0.01))


def _activation(name: str) -> Program:
    return _weighed(lambda torch, x: getattr(torch.nn.functional, name)(x - 0.5))


PROGRAMS: dict[str, Program] = {
    **{name: _unary(name) for name in _UNARY},
    **{name: _activation(called) for name, called in _ACTIVATIONS.items()},
    "add": _weighed(lambda torch, x: x + x[0] + 2),
    "sub": _weighed(lambda torch, x: x - x.sum()),
    "rsub": _weighed(lambda torch, x: 3 - x),
    "mul": _weighed(lambda torch, x: x * x.sum(1, keepdim=True) * 2),
    "div": _weighed(lambda torch, x: x / (x.sum(0) + 1)),
    "pow": _weighed(lambda torch, x: x**3 + x**x),
    "maximum": _weighed(lambda torch, x: torch.maximum(x, x.mean())),
    "minimum": _weighed(lambda torch, x: torch.minimum(x, x.mean())),
    "atan2": _weighed(lambda torch, x: torch.atan2(x, x.mean())),
    "mm": lambda torch, x, w: (x @ w.t() @ x).sum(),
    "bmm": lambda torch, x, w: (
        torch.bmm(torch.stack([x, w]), torch.stack([w.t(), x.t()])).sin().sum()
    ),
    "mv": lambda torch, x, w: (x @ w[0]).exp().sum(),
    "dot": lambda torch, x, w: torch.dot(x[0], w[1] * x[1]),
    "addmm": lambda torch, x, w: torch.addmm(x[:, :2] * 2, x, w.t()).sum(),
    "t": lambda torch, x, w: (x.t() @ w).sin().sum(),
    "transpose": _weighed(lambda torch, x: x.transpose(0, 1).exp().transpose(0, 1)),
    "permute": _weighed(lambda torch, x: x.permute(1, 0).exp().permute(1, 0)),
    "view": _weighed(lambda torch, x: x.view(6).exp().view(2, 3)),
    "squeeze": _weighed(lambda torch, x: x.unsqueeze(0).exp().squeeze(0)),
    "unsqueeze": _weighed(lambda torch, x: x.unsqueeze(1).exp().sum(1)),
    "expand": _weighed(lambda torch, x: x[0].expand(2, 3)),
    "select": _weighed(lambda torch, x: x.select(0, 1) * x),
    "slice": _weighed(lambda torch, x: x[:, 1:].exp().sum() * x),
    "cat": lambda torch, x, w: (torch.cat([x, w * x], 1).tanh() ** 2).sum(),
    "stack": lambda torch, x, w: (torch.stack([x, w * x], 1).tanh() ** 2).sum(),
    "sum": lambda torch, x, w: (x.sum(1) * x.sum() * x.sum((0, 1))).sum(),
    "mean": lambda torch, x, w: ((x * w).mean(1, keepdim=True) * x.mean(0)).mean(),
    "softmax": _weighed(lambda torch, x: torch.softmax(x, 1) + torch.softmax(x, 0)),
    "log_softmax": _weighed(lambda torch, x: torch.log_softmax(x, 1)),
    "mse_loss": lambda torch, x, w: torch.nn.functional.mse_loss(x * x, w * x),
    "l1_loss": lambda torch, x, w: torch.nn.functional.l1_loss(x * x, w),
    "nll_loss": lambda torch, x, w: torch.nn.functional.cross_entropy(x * w, torch.tensor([2, 0])),
}


def program(name: str, torch: Any, values: list[list[float]]) -> Any:
    """The loss of one of them; `x` is its leaf."""
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    w = torch.tensor(W, dtype=torch.float64)
    return PROGRAMS[name](torch, x, w)
