"""`Variable`, the old name for a tensor that can require a gradient."""

from __future__ import annotations

from typing import Any

from .._autograd.backward_pass.engine import queue_callback
from .._tensor.tensor import Tensor


class ImperativeEngine:
    """What libraries reach the backward pass by."""

    queue_callback = staticmethod(queue_callback)


class VariableMeta(type):
    """Makes every tensor an instance of `Variable`."""

    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """`Variable(x, requires_grad)` is the tensor itself: the two were merged long ago."""

    _execution_engine = ImperativeEngine()

    def __new__(cls, data: Any = None, requires_grad: bool = False) -> Any:
        tensor = Tensor() if data is None else data.detach()
        return tensor.requires_grad_(requires_grad)


__all__ = ["Variable", "VariableMeta"]
