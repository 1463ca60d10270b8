"""Gamma and Dirichlet numbers, with gradients of a draw with respect to its parameters.

These four names begin with an underscore in PyTorch, too: the public interface is `distributions`.
"""

from __future__ import annotations

from typing import Any

from .. import _random
from .._autograd.apply import apply
from .._ops.elementwise.implicit_gradients import (
    beta_gradient_op,
    gamma_gradient_op,
    sample_dirichlet_op,
    standard_gamma_op,
)
from .draws import per_example
from .random_state import checked
from .tensor import Tensor


def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Gamma numbers of scale one, with the concentrations in `input`."""
    values = per_example(_random.standard_gamma, checked(generator, input._data), input._data)
    result: Tensor = apply(standard_gamma_op, (input,), {"drawn": values})
    return result


def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """The derivative of each gamma number in `output` by its concentration in `input`."""
    result: Tensor = apply(gamma_gradient_op, (input, output), {})
    return result


def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Points of the simplex along the last dimension, with the concentrations in `input`."""
    values = per_example(_random.dirichlet, checked(generator, input._data), input._data)
    result: Tensor = apply(sample_dirichlet_op, (input,), {"drawn": values})
    return result


def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """The derivative of each part `x` by its own concentration `alpha`, divided by `1 - x`."""
    result: Tensor = apply(beta_gradient_op, (x, alpha, total), {})
    return result
