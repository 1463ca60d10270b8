"""The short way for the operators people type: `x + y`, `x * 2`.

Two tensors of one dtype (or a float tensor and a Python number) need no promotion, so the method
runs the ufunc, and writes the node down by hand. Everything else takes the general way, `slow`,
which gives the same result; so does any thread in a special mode. What is skipped here is only
bookkeeping: the tests run every operator both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import _getframe
from typing import Any

import numpy as np

from ..._arrays.result_layout import as_iterated
from ..._autograd.apply import apply_one
from ..._autograd.modes import modes, shared
from ..._autograd.node import next_sequence, node_type
from ..._autograd.views import bump
from ..._tensor.tensor import Tensor, current_node
from ..._user_code.owners import internal
from ..elementwise.powers import pow_scalar_op
from .guarding import explain, marked, with_numbers
from .record import Op

_new = object.__new__
_ndarray = np.ndarray

FLOATS = frozenset("fdFD")
NUMBERS = frozenset("fdFDbhilqB")
_FLOAT32 = np.dtype(np.float32)
_LEAST, _LIMIT = -(2**63), 2**64  # of the integers that PyTorch converts


def fast_operator(
    op: Op, slow: Callable[[Any, Any], Any], direct: frozenset[str] = NUMBERS
) -> Callable[[Any, Any], Any]:
    """A method of two operands; `direct` are the dtype codes on which the ufunc needs no cast."""
    forward = op.forward
    node_class = node_type(op)
    plans = op._plans
    saves = not op.saves_nothing

    caller: Any = None

    def method(self: Any, other: Any) -> Any:
        nonlocal caller
        if shared.ordinary:
            recording: bool | None = True
            quietly = shared.quietly
        else:
            recording, quietly = modes.way
            if recording is None:
                return slow(self, other)
        try:
            x = self._data
        except AttributeError:
            return slow(self, other)
        dtype = x.dtype
        if type(other) is Tensor or isinstance(other, Tensor):
            y = other._data
            if y.dtype is not dtype or (dtype is not _FLOAT32 and dtype.char not in direct):
                return slow(self, other)
        elif dtype.char in "fd" and (
            type(other) is float or (type(other) is int and _LEAST <= other < _LIMIT)
        ):
            y = other
        else:
            return slow(self, other)
        try:
            data = quietly(forward, x, y)
        except (ValueError, OverflowError, RuntimeError):
            return slow(self, other)  # which says what is wrong with the shapes
        if type(data) is not _ndarray:
            if isinstance(data, np.generic):
                data = np.asarray(data)
        elif not (x.flags.c_contiguous and (y is other or y.flags.c_contiguous)):
            data = as_iterated(data, (x, y))  # else NumPy's layout is PyTorch's: rows
        out = _new(Tensor)
        out._data = data
        out._node = None
        out._requires_grad = False
        out._version_box = [0]
        out._base = out._grad = None
        out._output_nr = 0
        if not recording:
            return out
        if self._base is not None:
            current_node(self)
        first = self._node
        if first is None and self._requires_grad:
            first = self
        second = None
        if y is not other:
            if other._base is not None:
                current_node(other)
            second = other._node
            if second is None and other._requires_grad:
                second = other
        if first is None and second is None:
            return out

        # What `record` in _autograd/apply.py does, for two inputs.
        out._node = node = node_class()
        node.edges = (first, second)
        if self._output_nr or (second is not None and other._output_nr):
            node.edge_nrs = (self._output_nr, 0 if second is None else other._output_nr)
        if saves:
            node.saved = saved = [None, None, None]
            node.versions = versions = []
            mask = (first is not None) + 2 * (second is not None)
            for i in (plans.get(mask) or op.plan(mask))[0]:
                if i == 0:
                    saved[0] = x
                    box = self._version_box
                    versions.append((box, box[0], 0))
                else:
                    saved[1] = y
                    if y is not other:
                        box = other._version_box
                        versions.append((box, box[0], 1))
        node.sequence = next_sequence()
        node.mark = 0
        node.shape = data.shape
        node.dtype = dtype
        frame = _getframe(1)
        code = frame.f_code
        if code is not caller:
            while internal[code.co_filename] and frame.f_back is not None:
                frame = frame.f_back
                code = frame.f_code
            caller = code  # most often the same code asks again
        node.code = code
        node.instruction = frame.f_lasti
        return out

    method.__name__ = slow.__name__
    method.__doc__ = slow.__doc__
    return method


def _is_plain_number(value: Any) -> bool:
    """Whether a number needs no conversion (`fast_operator` asks the same, in place).

    A number that stands for any while a function is compiled says that it is a float, and is taken for one.
    """
    return value.__class__ is float or (type(value) is int and _LEAST <= value < _LIMIT)


def fast_power(slow: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`x ** 2`: a float tensor to the power of a Python number needs no promotion."""

    def method(self: Any, other: Any) -> Any:
        try:
            if _is_plain_number(other) and self._data.dtype.char in "fd":
                return apply_one(pow_scalar_op, self, {"exponent": other})
        except AttributeError:
            if isinstance(self, Tensor):
                raise
        return slow(self, other)

    method.__name__ = slow.__name__
    method.__doc__ = slow.__doc__
    return method


def fast_update(op: Op, slow: Callable[..., Any]) -> Callable[..., Any]:
    """`x += y` where nothing is recorded, as in an optimizer: the ufunc writes into x at once."""
    ufunc = op.forward

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if len(args) != 1 or kwargs:
                return slow(self, *args, **kwargs)
            other = args[0]
            recording, quietly = modes.way
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
            quietly(ufunc, x, y, x)
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
