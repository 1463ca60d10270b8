"""The short way for the operators people type: `x + y`, `x * 2`.

Two tensors of one dtype (or a float tensor and a Python number) need no promotion, so the method runs
the ufunc, and writes the node down by hand. Everything else takes the general way, `slow`, which gives
the same result; so does any thread in a special mode. What is skipped here is only bookkeeping: the
tests run every operator both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import _getframe
from typing import Any

import numpy as np

from .._arrays.quiet import hush, unhush
from .._autograd.modes import modes
from .._autograd.node import Node, next_sequence
from .._autograd.sites import internal
from .._tensor.tensor import Tensor, current_node
from .record import Op

_new = object.__new__
_ndarray = np.ndarray
_PLAIN: dict[str, Any] = {}

FLOATS = frozenset("fdFD")
NUMBERS = frozenset("fdFDbhilqB")


def fast_operator(
    op: Op, slow: Callable[[Any, Any], Any], direct: frozenset[str] = NUMBERS
) -> Callable[[Any, Any], Any]:
    """A method of two operands; `direct` are the dtype codes on which the ufunc needs no cast."""
    forward = op.forward

    def method(self: Any, other: Any) -> Any:
        if modes.special:
            return slow(self, other)
        x = self._data
        dtype = x.dtype
        if isinstance(other, Tensor):
            y = other._data
            if y.dtype is not dtype or dtype.char not in direct:
                return slow(self, other)
        elif (other.__class__ is float or other.__class__ is int) and dtype.char in "fd":
            y = other
        else:
            return slow(self, other)
        token = hush()
        try:
            data = forward(x, y)
        except (ValueError, OverflowError):
            return slow(self, other)  # which says what is wrong with the shapes
        finally:
            unhush(token)
        if data.__class__ is not _ndarray and isinstance(data, np.generic):
            data = np.asarray(data)
        out = _new(Tensor)
        out._data = data
        out._node = None
        out._requires_grad = False
        out._version_box = [0]
        if modes.grad:
            if self._base is not None:
                current_node(self)
            first = self._node
            if first is None and self._requires_grad:
                first = self
            if y is other:
                second = None
            else:
                if other._base is not None:
                    current_node(other)
                second = other._node
                if second is None and other._requires_grad:
                    second = other
            if first is not None or second is not None:
                _record(op, out, self, other, x, y, first, second, data)
        return out

    method.__name__ = slow.__name__
    method.__doc__ = slow.__doc__
    return method


def _record(
    op: Op, out: Tensor, self: Tensor, other: Any, x: Any, y: Any, first: Any, second: Any, data: Any
) -> None:
    node = _new(Node)
    node.op = op
    node.edges = (first, second)
    node.edge_nrs = None
    if self._output_nr or (y is not other and other._output_nr):
        node.edge_nrs = (self._output_nr, 0 if y is other else other._output_nr)
    needs = (first is not None, second is not None)
    slots, saves_output = op._plans.get(needs) or op.plan(needs)
    if slots or saves_output:
        saved: list[Any] = [None, None, None]
        versions = []
        for i in slots:
            if i == 0:
                saved[0] = x
                box = self._version_box
                versions.append((box, box[0], 0))
            else:
                saved[1] = y
                if y is not other:
                    box = other._version_box
                    versions.append((box, box[0], 1))
        if saves_output:
            saved[2] = data
            versions.append((out._version_box, 0, -1))
        node.saved = saved
        node.versions = versions
    else:
        node.saved = node.versions = ()
    node.shapes = (x.shape, () if y is other else y.shape) if op.shape_inputs else None
    node.parameters = _PLAIN
    node.sequence = next_sequence()
    node.shape = data.shape
    node.dtype = data.dtype
    frame = _getframe(2)
    while internal[frame.f_code.co_filename] and frame.f_back is not None:
        frame = frame.f_back
    node.site = (frame.f_code, frame.f_lasti)
    out._node = node
