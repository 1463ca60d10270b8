"""The short way for the operators people type: `x + y`, `x * 2`.

Two tensors of one dtype (or a float tensor and a Python number) need no promotion, so the method is
the record's own function (`_autograd/recorder.py`), with a question about the operands before it.
Everything else takes the general way, `slow`, which gives the same result; so does any thread in a
special mode. The tests run every operator both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._autograd.modes import modes
from ..._autograd.views import bump
from ..._tensor.tensor import Tensor
from .guarding import explain, marked, with_numbers
from .record import Op

_ndarray = np.ndarray

FLOATS = frozenset("fdFD")
NUMBERS = frozenset("fdFDbhilqB")


def fast_operator(
    op: Op, slow: Callable[[Any, Any], Any], direct: frozenset[str] = NUMBERS
) -> Callable[[Any, Any], Any]:
    """A method of two operands; `direct` are the dtype codes on which the ufunc needs no cast."""
    return _named_as(slow, op.function("operator", slow=slow, direct=direct))


def fast_power(op: Op, slow: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`x ** 2`: a float tensor to the power of a Python number needs no promotion."""
    return _named_as(slow, op.function("power", slow=slow))


def _named_as(slow: Any, method: Any) -> Callable[[Any, Any], Any]:
    method.__name__, method.__qualname__, method.__doc__ = (
        slow.__name__,
        slow.__name__,
        slow.__doc__,
    )
    return method  # type: ignore[no-any-return]


def _is_plain_number(value: Any) -> bool:
    """Whether a number needs no conversion.

    A number that stands for any while a function is compiled says that it is a float, and is taken for one.
    """
    return value.__class__ is float or (type(value) is int and -(2**63) <= value < 2**64)


def fast_update(op: Op, slow: Callable[..., Any]) -> Callable[..., Any]:
    """`x += y` where nothing is recorded, as in an optimizer: the ufunc writes into x at once."""
    ufunc = op.forward

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if len(args) != 1 or kwargs:
                return slow(self, *args, **kwargs)
            other = args[0]
            recording = modes.way[0]
            x = self._data
            if (
                recording is None
                or x.dtype.char not in "fd"
                or self._base is not None
                or (recording and (self._requires_grad or self._node is not None))
                or self._is_inference
                or type(x) is not _ndarray
                or 0 in x.strides
            ):
                return slow(self, other)
            if isinstance(other, Tensor):
                y = other._data
                if (
                    y.dtype is not x.dtype
                    or type(y) is not _ndarray
                    or (y.shape != x.shape and y.shape)
                    or other._base is not None
                    or (recording and (other._requires_grad or other._node is not None))
                ):
                    return slow(self, other)
            elif _is_plain_number(other):
                y = other
            else:
                return slow(self, other)
            modes.quietly(ufunc, x, y, x)
            bump(self)
            return self
        except Exception as error:
            given = (self, *args)
            again = with_numbers(error, slow, slow.__name__, given, kwargs, method=True)
            if again is None:
                explain(error, slow.__name__, given, kwargs, method=True)
                raise
        try:
            return slow(*again[0], **again[1])
        except Exception as error:
            explain(error, slow.__name__, *again, method=True)
            raise

    marked(method)
    method.__name__ = method.__qualname__ = slow.__name__
    method.__doc__ = slow.__doc__
    return method
