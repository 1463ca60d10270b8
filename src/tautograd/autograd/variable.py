"""`Variable`, the old name for a tensor that can require a gradient."""

from __future__ import annotations

import warnings
from operator import index
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


def _flag(value: Any, argument: str) -> bool:
    try:
        return bool(index(value))
    except TypeError as error:
        raise TypeError(f"{argument} must be True or False: {error}") from None


class Variable(metaclass=VariableMeta):
    """`Variable(x, requires_grad)` is the tensor itself: the two were merged long ago."""

    _execution_engine = ImperativeEngine()

    def __new__(
        cls,
        data: Any = None,
        requires_grad: Any = False,
        volatile: Any = False,
        _grad_fn: None = None,
        name: str | None = None,
    ) -> Any:
        if _grad_fn is not None:
            raise TypeError(
                "_grad_fn has to be None: a Variable is a leaf, and what a function returns has its history "
                f"already, but got {type(_grad_fn).__name__}"
            )
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name must be str or None, not {type(name).__name__}")
        if _flag(volatile, "volatile"):
            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                UserWarning,
                2,
            )
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        tensor = Tensor() if data is None else data.detach()
        tensor._name = name
        return tensor.requires_grad_(_flag(requires_grad, "requires_grad"))


__all__ = ["Variable", "VariableMeta"]
