"""How common operations are differentiated, in symbols and in numbers: for display, not for computing.

A rule says what an operation does, and for each of its inputs what the incoming gradient is
multiplied by (or how it is rearranged). It also computes that, on arrays; the page shows a rule only if
its result equals the engine's, so a rule that does not apply (another reduction, another
`alpha`) is never shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = Sequence[Any]  # of the inputs, None where unknown


@dataclass(frozen=True)
class Factor:
    """The gradient is multiplied elementwise by this; `{a}`, `{b}`, `{y}` are inputs and result."""

    text: str
    value: Callable[[Arrays, Any], Any]


@dataclass(frozen=True)
class Product:
    """A matrix product with the gradient, from the left or from the right."""

    text: str  # with {g}
    value: Callable[[Any, Arrays], Any]
    terms: Callable[[Any, Arrays, tuple[int, ...]], Iterator[tuple[float, float]]]


@dataclass(frozen=True)
class Carried:
    """The gradient's own numbers, spread or moved to where they came from."""

    text: str
    value: Callable[[Any, Arrays, Any], Iterator[Any]]  # candidates, to be tried in turn


@dataclass(frozen=True)
class Rule:
    """What an operation computes, and one part for each of its inputs."""

    formula: str
    parts: tuple[Factor | Product | Carried, ...]


def _ones(xs: Arrays, y: Any) -> Any:
    return np.ones(())


def _negative(xs: Arrays, y: Any) -> Any:
    return -np.ones(())


def _unary(formula: str, text: str, value: Callable[[Any, Any], Any]) -> Rule:
    return Rule(formula, (Factor(text, lambda xs, y: value(xs[0], y)),))


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _normal(x: Any) -> Any:
    from scipy.special import erf

    return 0.5 * (1 + erf(x / math.sqrt(2)))


def _turned(x: Any) -> Any:
    return np.swapaxes(x, -1, -2) if x.ndim > 1 else x


def _left(i: int) -> Product:
    """For A in A @ B: the gradient times B transposed."""

    def terms(g: Any, xs: Arrays, at: tuple[int, ...]) -> Iterator[tuple[float, float]]:
        *lead, row, column = at
        for j in range(g.shape[-1]):
            yield g[(*lead, row, j)], xs[i][(*lead, column, j)]

    return Product("{g} · {" + "abc"[i] + "}ᵀ", lambda g, xs: g @ _turned(xs[i]), terms)


def _right(i: int) -> Product:
    """For B in A @ B: A transposed times the gradient."""

    def terms(g: Any, xs: Arrays, at: tuple[int, ...]) -> Iterator[tuple[float, float]]:
        *lead, row, column = at
        for j in range(g.shape[-2]):
            yield xs[i][(*lead, j, row)], g[(*lead, j, column)]

    return Product("{" + "abc"[i] + "}ᵀ · {g}", lambda g, xs: _turned(xs[i]) @ g, terms)


def _spread(scale: Callable[[Any, Any], float]) -> Callable[[Any, Arrays, Any], Iterator[Any]]:
    """A sum's gradient, broadcast to every entry that was summed."""

    def ways(g: Any, xs: Arrays, like: Any) -> Iterator[Any]:
        factor = scale(like, g)
        if g.size == 1 or g.ndim == like.ndim:
            yield np.broadcast_to(g.reshape(()) if g.size == 1 else g, like.shape) * factor
            return
        for axis in range(like.ndim):
            wider = np.expand_dims(g, axis)
            if wider.ndim == like.ndim:
                yield from _fitting(wider * factor, like.shape)

    return ways


def _fitting(array: Any, shape: tuple[int, ...]) -> Iterator[Any]:
    try:
        yield np.broadcast_to(array, shape)
    except ValueError:
        return


def _moved(g: Any, xs: Arrays, like: Any) -> Iterator[Any]:
    if g.size == like.size:
        yield g.reshape(like.shape)
        yield (
            like if np.array_equal(np.sort(g, None), np.sort(like, None)) else g.reshape(like.shape)
        )


def _softmax_ways(is_log: bool) -> Callable[[Any, Arrays, Any], Iterator[Any]]:
    def ways(g: Any, xs: Arrays, like: Any) -> Iterator[Any]:
        y = xs[-1]
        if y is None:
            return
        for axis in range(-1, like.ndim - 1):
            if is_log:
                yield g - np.exp(y) * g.sum(axis=axis, keepdims=True)
            else:
                yield y * (g - (g * y).sum(axis=axis, keepdims=True))

    return ways


def _mse_ways(sign: int) -> Callable[[Arrays, Any], Any]:
    return lambda xs, y: sign * 2 * (xs[0] - xs[1]) / (xs[0].size if np.size(y) == 1 else 1)


_MOVED = Rule("", (Carried("the same numbers, back in their places", _moved),))
_PRODUCT = Rule("{a} @ {b}", (_left(1), _right(0)))

RULES: dict[str, Rule] = {
    "mul": Rule(
        "{a} · {b}", (Factor("{b}", lambda xs, y: xs[1]), Factor("{a}", lambda xs, y: xs[0]))
    ),
    "add": Rule("{a} + {b}", (Factor("1", _ones), Factor("1", _ones))),
    "sub": Rule("{a} − {b}", (Factor("1", _ones), Factor("(−1)", _negative))),
    "rsub": Rule("{b} − {a}", (Factor("(−1)", _negative), Factor("1", _ones))),
    "neg": Rule("−{a}", (Factor("(−1)", _negative),)),
    "div": Rule(
        "{a} / {b}",
        (
            Factor("1/{b}", lambda xs, y: 1 / xs[1]),
            Factor("(−{a}/{b}²)", lambda xs, y: -xs[0] / xs[1] ** 2),
        ),
    ),
    "pow": Rule(
        "{a} ^ {b}",
        (
            Factor("{b}·{a}^({b}−1)", lambda xs, y: xs[1] * xs[0] ** (xs[1] - 1)),
            Factor("{y}·ln {a}", lambda xs, y: y * np.log(xs[0])),
        ),
    ),
    "exp": _unary("exp({a})", "{y}", lambda x, y: y),
    "expm1": _unary("exp({a}) − 1", "({y} + 1)", lambda x, y: y + 1),
    "log": _unary("ln {a}", "1/{a}", lambda x, y: 1 / x),
    "log1p": _unary("ln(1 + {a})", "1/(1 + {a})", lambda x, y: 1 / (1 + x)),
    "sqrt": _unary("√{a}", "1/(2·{y})", lambda x, y: 1 / (2 * y)),
    "rsqrt": _unary("1/√{a}", "(−{y}³/2)", lambda x, y: -0.5 * y**3),
    "reciprocal": _unary("1/{a}", "(−{y}²)", lambda x, y: -(y**2)),
    "sin": _unary("sin {a}", "cos {a}", lambda x, y: np.cos(x)),
    "cos": _unary("cos {a}", "(−sin {a})", lambda x, y: -np.sin(x)),
    "tan": _unary("tan {a}", "(1 + {y}²)", lambda x, y: 1 + y**2),
    "tanh": _unary("tanh {a}", "(1 − {y}²)", lambda x, y: 1 - y**2),
    "sigmoid": _unary("σ({a})", "{y}·(1 − {y})", lambda x, y: y * (1 - y)),
    "relu": _unary("max({a}, 0)", "(1 if {a} > 0, else 0)", lambda x, y: np.where(y > 0, 1.0, 0.0)),
    "abs": _unary("|{a}|", "sign {a}", lambda x, y: np.sign(x)),
    "erf": _unary("erf {a}", "2/√π·exp(−{a}²)", lambda x, y: 2 / np.sqrt(np.pi) * np.exp(-(x**2))),
    "silu": _unary(
        "{a}·σ({a})",
        "σ({a})·(1 + {a}·(1 − σ({a})))",
        lambda x, y: _sigmoid(x) * (1 + x * (1 - _sigmoid(x))),
    ),
    "gelu": _unary(
        "{a}·Φ({a})",
        "(Φ({a}) + {a}·φ({a}))",
        lambda x, y: _normal(x) + x * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi),
    ),
    "softplus": _unary("ln(1 + exp({a}))", "σ({a})", lambda x, y: _sigmoid(x)),
    "clone": _unary("{a}", "1", lambda x, y: np.ones(())),
    "mse_loss": Rule(
        "mean of ({a} − {b})²",
        (
            Factor("2·({a} − {b})/n", _mse_ways(1)),
            Factor("(−2)·({a} − {b})/n", _mse_ways(-1)),
        ),
    ),
    "mm": _PRODUCT,
    "bmm": _PRODUCT,
    "addmm": Rule(
        "{a} + {b} @ {c}",
        (Factor("1", _ones), _left(2), _right(1)),
    ),
    "dot": Rule(
        "{a} · {b}", (Factor("{b}", lambda xs, y: xs[1]), Factor("{a}", lambda xs, y: xs[0]))
    ),
    "sum": Rule(
        "sum of {a}", (Carried("given to every entry that was summed", _spread(lambda x, g: 1.0)),)
    ),
    "mean": Rule(
        "mean of {a}",
        (
            Carried(
                "divided by n, given to every one of n entries",
                _spread(lambda x, g: g.size / x.size),
            ),
        ),
    ),
    "log_softmax": Rule(
        "log_softmax({a})", (Carried("minus softmax({a}) times its own sum", _softmax_ways(True)),)
    ),
    "softmax": Rule(
        "softmax({a})",
        (
            Carried(
                "minus its mean weighted by {y}, all of it times {y}",
                _softmax_ways(False),
            ),
        ),
    ),
    **dict.fromkeys(
        (
            *(
                "view",
                "unsafe_view",
                "reshape_alias",
                "_reshape_alias",
                "reshape",
                "t",
                "transpose",
            ),
            *("permute", "squeeze", "unsqueeze", "alias", "flatten", "_unsafe_view"),
        ),
        _MOVED,
    ),
}
