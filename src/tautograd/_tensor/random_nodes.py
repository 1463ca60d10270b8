"""Random numbers in a graph: they depend on nothing, so every gradient is zero.

The numbers are drawn first; the operation only records that they came from here, under
PyTorch's node name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._autograd.apply import apply
from .._ops.declare.elementwise_calls import no_derivative
from .._ops.declare.record import Op
from .tensor import Tensor


def _drawn_op(name: str, node: str) -> Op:
    return Op(
        name,
        lambda x, drawn: drawn,
        ("x",),
        vjp={"x": lambda g, x_shape: np.zeros_like(g, shape=x_shape)},
        jvp={"x": lambda t, drawn: np.zeros_like(drawn)},
        node=node,
        opmath=False,
        internal=True,
    )


def _of_two(g: Any, x_shape: Any, y_shape: Any) -> tuple[Any, Any]:
    return np.zeros_like(g, shape=x_shape), np.zeros_like(g, shape=y_shape)


NODES: dict[str, Op] = {
    node: _drawn_op(f"drawn_{node}", f"{node[:-1]}Backward{node[-1]}")
    for node in (
        "Normal0", "Normal1", "Normal2", "Uniform0", "LogNormal0", "Exponential0", "Cauchy0",
        "Geometric0", "Random0", "Random1", "Random2", "Bernoulli0", "Bernoulli1", "Bernoulli2",
        "Poisson0",
    )
}  # fmt: skip
_normal_of_two = Op(
    "drawn_Normal3",
    lambda x, y, drawn: drawn,
    ("x", "y"),
    vjp=_of_two,
    jvp={
        "x": lambda t, drawn: np.zeros_like(drawn),
        "y": lambda t, drawn: np.zeros_like(drawn),
    },
    node="NormalBackward3",
    opmath=False,
    internal=True,
)


# The number of successes has no derivative, by the number of trials or by their probability.
_successes = Op(
    "drawn_Binomial0",
    lambda x, y, drawn: drawn,
    ("x", "y"),
    **no_derivative("binomial", "x", "y"),
    node="torch::autograd::NotImplemented",
    opmath=False,
    internal=True,
)


def successes(values: Any, trials: Tensor, chance: Tensor) -> Tensor:
    """What `binomial` drew, as a tensor computed from these."""
    result: Tensor = apply(_successes, (trials, chance), {"drawn": values})
    return result


def drawn(node: str, values: Any, *sources: Tensor) -> Tensor:
    """Numbers as a tensor drawn for (or with the parameters in) these tensors."""
    op = _normal_of_two if len(sources) == 2 else NODES[node]
    result: Tensor = apply(op, sources, {"drawn": values})
    return result
