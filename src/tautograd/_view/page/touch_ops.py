"""The operations that a page can recompute, in NumPy; `touch_ops.js` does the same."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


def _erf(x: Any) -> Any:
    from scipy.special import erf

    return erf(x)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _nll(log_probabilities: Any, target: Any) -> Any:
    rows = np.arange(target.size)
    return -log_probabilities[rows, target.astype(int)]


UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": np.negative,
    "exp": np.exp,
    "expm1": np.expm1,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "log_sigmoid": lambda x: -np.log1p(np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "abs": np.abs,
    "erf": _erf,
    "silu": lambda x: x * _sigmoid(x),
    "gelu": lambda x: 0.5 * x * (1 + _erf(x / np.sqrt(2))),
    "softplus": lambda x: np.logaddexp(x, 0),
    "clone": lambda x: x,
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "rsub": lambda a, b: b - a,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "atan2": np.arctan2,
    "mm": np.matmul,
    "bmm": np.matmul,
    "mv": np.matmul,
    "dot": np.dot,
}
TERNARY: dict[str, Callable[[Any, Any, Any], Any]] = {"addmm": lambda c, a, b: c + a @ b}
MOVES = frozenset(
    (
        *("view", "unsafe_view", "_unsafe_view", "reshape", "reshape_alias", "_reshape_alias"),
        *("flatten", "squeeze", "unsqueeze", "alias", "unflatten"),
    )
)
_REDUCES: dict[str, Callable[..., Any]] = {"sum": np.sum, "mean": np.mean}
_LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "mse_loss": lambda a, b: (a - b) ** 2,
    "l1_loss": lambda a, b: np.abs(a - b),
    "nll_loss": _nll,
}
_TURNS = ("t", "transpose", "permute", "numpy_t", "expand", "select", "slice")
_ARITY = {
    **dict.fromkeys((*UNARY, *MOVES, *_REDUCES, *_TURNS, "softmax", "log_softmax"), 1),
    **dict.fromkeys((*BINARY, *_LOSSES), 2),
    **dict.fromkeys(TERNARY, 3),
}
Ways = Iterator[tuple[dict[str, Any], Callable[..., Any]]]


def arity(name: str) -> int:
    """How many tensors it takes; 0 for any number."""
    return _ARITY.get(name, 0)


def ways_to_reduce(name: str, inputs: list[Any], result: Any) -> Ways:
    """Operations that take a dimension or a loss reduction: one way for each."""
    ndim = np.ndim(inputs[0]) if inputs else 0
    if name in _REDUCES and len(inputs) == 1:
        reduce = _REDUCES[name]
        for count in range(ndim + 1):
            for axes in itertools.combinations(range(ndim), count):
                for keep in (False, True) if axes else (False,):
                    if (np.ndim(result) == ndim) == keep or not axes:
                        yield (
                            {"a": list(axes), "h": list(result.shape)},
                            lambda x, a=axes, k=keep: reduce(x, axis=a, keepdims=k),
                        )
    elif name in ("softmax", "log_softmax") and len(inputs) == 1:
        for axis in range(max(ndim, 1)):
            yield {"a": [axis]}, lambda x, a=axis: _softmax(x, a, name == "log_softmax")
    elif name in _LOSSES and len(inputs) == 2:
        parts = _LOSSES[name]
        for how, reduce in (("mean", np.mean), ("sum", np.sum), ("none", np.asarray)):
            yield {"r": how}, lambda a, b, reduce=reduce: reduce(parts(a, b))
    elif name == "select" and len(inputs) == 1:
        for axis in range(ndim):
            for index in range(np.shape(inputs[0])[axis]):
                yield (
                    {"a": [axis], "n": index},
                    lambda x, a=axis, n=index: np.take(x, n, axis=a),
                )
    elif name == "slice" and len(inputs) == 1:
        for axis in range(ndim):
            yield from _slices(axis, np.shape(inputs[0])[axis], np.shape(result)[axis])
    elif name == "cat":
        for axis in range(ndim):
            yield {"a": [axis]}, lambda *xs, a=axis: np.concatenate(xs, axis=a)
    elif name == "stack":
        for axis in range(ndim + 1):
            yield {"a": [axis]}, lambda *xs, a=axis: np.stack(xs, axis=a)


def _slices(axis: int, length: int, count: int) -> Ways:
    for start in range(length - count + 1):
        kept = slice(start, start + count)
        yield (
            {"a": [axis], "n": start, "m": count},
            lambda x, a=axis, kept=kept: x[(*[slice(None)] * a, kept)],
        )


def _softmax(x: Any, axis: int, is_log: bool) -> Any:
    shifted = x - x.max(axis=axis, keepdims=True)
    if is_log:
        return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return np.exp(shifted) / np.exp(shifted).sum(axis=axis, keepdims=True)
