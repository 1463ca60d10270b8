"""Applying a view operation with one output: what `apply` does, without what views never need.

A view computes nothing: no promotion, no half precision, no warnings, nothing saved. What is left
is the new tensor, the way to it from its base, and a node.
"""

from __future__ import annotations

from sys import _getframe
from typing import Any

from .._ops.declare.record import Op
from .._tensor.tensor import Tensor, current_node
from .._user_code.owners import internal
from .apply import apply
from .modes import modes
from .node import NO_PARAMETERS, next_sequence, node_type

_new = object.__new__


def apply_view(
    op: Op, x: Tensor, parameters: dict[str, Any] = NO_PARAMETERS, data: Any = None
) -> Any:
    """The view of `x` by `op`; `data` is the array it shows, where the caller has it already."""
    recording = modes.way[0]
    if recording is None or x._is_inference:
        return apply(op, (x,), parameters)
    array = x._data
    if data is None:
        data = op.forward(array, **parameters)
    out = _new(Tensor)
    out._data = data
    out._node = out._grad = None
    out._requires_grad = False
    out._output_nr = 0
    base = x._base
    if base is None:
        base = x
        out._view = ((op, parameters, None),)
    else:
        out._view = (*x._view, (op, parameters, None))
        if x._view_creation is not None:
            out._view_creation = x._view_creation
        if recording and x._version_box[0] != x._seen_version:
            current_node(x)
    out._base = base
    out._version_box = box = base._version_box
    out._seen_version = box[0]
    if not recording:
        out._view_creation = "no_grad"
        # It wants a gradient as its base does, though none will get there.
        out._requires_grad = base.requires_grad
        return out
    edge: Any = x._node
    if edge is None:
        if not x._requires_grad:
            return out
        edge = x
    if op.vjp is None:
        return out

    # What `record` in apply.py does, for one input of which nothing is saved.
    out._node = node = (op.node_type or node_type(op))()
    node.edges = (edge,)
    if x._output_nr:
        node.edge_nrs = (x._output_nr,)
    if op.parameters:
        node.parameters = parameters
    node.sequence = next_sequence()
    node.mark = 0
    if op.shape_inputs:
        node.shapes = (array.shape,)
    node.shape = data.shape
    node.dtype = data.dtype
    frame = _getframe(1)
    code = frame.f_code
    while internal[code.co_filename] and frame.f_back is not None:
        frame = frame.f_back
        code = frame.f_code
    node.code = code
    node.instruction = frame.f_lasti
    return out
