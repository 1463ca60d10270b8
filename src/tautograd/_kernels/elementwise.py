"""Functions of each element by itself, over arrays of one shape that lie alike."""

from __future__ import annotations

import math
from collections.abc import Callable

from .._arrays.kernels import BLOCK
from .._compile.native.llvm.algebra import Term, where
from .._compile.native.llvm.vector_math_erf import erf
from .._compile.native.llvm.vector_math_exp import exp, sigmoid, tanh
from .writer import BEGIN, END, Writer

_ROOT_HALF, _DENSITY = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi)
_ROOT_2_OVER_PI, _CUBIC = math.sqrt(2 / math.pi), 0.044715


def elementwise(inputs: int, formula: Callable[..., Term]) -> tuple[str, Callable[[Writer], None]]:
    """A kernel `(*inputs, out, count)`; its units are blocks of elements."""

    def write(w: Writer) -> None:
        *arrays, out, count = w.arguments()
        start = w.times(BEGIN, BLOCK)
        stop = w.least(w.times(END, BLOCK), count)

        def body(index: str, mask: str | None) -> None:
            terms = [w.load(w.at(array, index), mask) for array in arrays]
            w.store(formula(*terms), w.at(out, index), mask)

        w.vectors(stop, body, start)

    return "a" * (inputs + 1) + "n", write


def _gelu(x: Term) -> Term:
    return (erf(x * _ROOT_HALF) + 1.0) * 0.5 * x


def _gelu_gradient(g: Term, x: Term) -> Term:
    share = (erf(x * _ROOT_HALF) + 1.0) * 0.5
    return g * (exp(x * x * -0.5) * _DENSITY * x + share)


def _tanh_share(x: Term) -> Term:
    """tanh(√(2/π) (x + 0.044715 x³)), as GELU's approximation has it."""
    return tanh(_ROOT_2_OVER_PI * (x + _CUBIC * x * x * x))


def _gelu_tanh(x: Term) -> Term:
    return 0.5 * x * (1.0 + _tanh_share(x))


def _gelu_tanh_gradient(g: Term, x: Term) -> Term:
    inner = _tanh_share(x)
    slope = _ROOT_2_OVER_PI * (1.0 + (3 * _CUBIC) * x * x)
    return g * (0.5 * (1.0 + inner) + 0.5 * x * (1.0 - inner * inner) * slope)


def _relu(x: Term) -> Term:
    """NaN stays, and so does -0."""
    return where(x.compare("lt", 0.0), x.like(0.0), x)


def _relu_gradient(g: Term, out: Term) -> Term:
    return where(out.compare("le", 0.0), g.like(0.0), g)


def _silu(x: Term) -> Term:
    return x * sigmoid(x)


def _silu_gradient(g: Term, x: Term) -> Term:
    share = sigmoid(x)
    return g * (share * (1.0 + x * (1.0 - share)))


ELEMENTWISE = {
    "gelu": elementwise(1, _gelu),
    "gelu_gradient": elementwise(2, _gelu_gradient),
    "gelu_tanh": elementwise(1, _gelu_tanh),
    "gelu_tanh_gradient": elementwise(2, _gelu_tanh_gradient),
    "relu": elementwise(1, _relu),
    "relu_gradient": elementwise(2, _relu_gradient),
    "silu": elementwise(1, _silu),
    "silu_gradient": elementwise(2, _silu_gradient),
    "sigmoid": elementwise(1, sigmoid),
    "tanh": elementwise(1, tanh),
    "erf": elementwise(1, erf),
}
