"""Views and their gradients by arithmetic alone, without the way through NumPy's dispatch."""

from __future__ import annotations

from ..._arrays.cuda.views import picked, reshaped, swapped, transposed
from ..shape.permutations import inverse_order
from .specialise import forward_of, rule_of

_ALL = slice(None)


def install() -> None:
    """Put these in place."""
    forward_of("view")(lambda x, size: reshaped(x, size))
    rule_of("view", "x")(lambda g, x_shape: reshaped(g, x_shape))
    rule_of("unsafe_view", "x")(lambda g, x_shape: reshaped(g, x_shape))
    forward_of("t")(lambda x: transposed(x))
    rule_of("t", "x")(lambda g: transposed(g))
    forward_of("transpose")(lambda x, dim0, dim1: swapped(x, dim0, dim1))
    rule_of("transpose", "x")(lambda g, dim0, dim1: swapped(g, dim0, dim1))
    forward_of("permute")(lambda x, dims: transposed(x, dims))
    rule_of("permute", "x")(lambda g, dims: transposed(g, inverse_order(dims)))
    forward_of("unbind")(
        lambda x, dim: [picked(x, (*(_ALL,) * dim, i)) for i in range(x.shape[dim])]
    )
