"""`torch.detach(x)`: the methods of the same names, as functions."""

from __future__ import annotations

from .._ops.declare.guarding import by_signature
from .._tensor.tensor import Tensor


@by_signature
def detach(input: Tensor) -> Tensor:
    """The same elements, out of the graph."""
    return input.detach()


@by_signature
def detach_(input: Tensor) -> Tensor:
    """Take a tensor out of the graph that made it, in place."""
    return input.detach_()
