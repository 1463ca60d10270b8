"""Applying an operation: run its forward on raw arrays and, if asked to, record a node."""

from __future__ import annotations

from sys import _getframe
from typing import Any

import numpy as np

from .._arrays.dtypes import HALF_CODES, HALVES
from .._ops.declare.record import Op
from .._tensor.tensor import Tensor, current_node, make
from .._user_code.owners import internal
from .inference import as_inference
from .modes import modes
from .node import NO_PARAMETERS, Node, next_sequence, node_type

_FLOAT32 = np.dtype(np.float32)


def apply(
    op: Op,
    inputs: tuple[Any, ...],
    parameters: dict[str, Any] = NO_PARAMETERS,
    compute: Any = None,
) -> Any:
    """Run `op` on tensors (numbers and None may stand among them) and record it.

    `compute` is the NumPy dtype that tensor inputs are cast to first (promotion); gradients are
    cast back by the engine. Half-precision inputs are computed in float32 and rounded once.
    """
    recording, quietly = modes.way
    if recording is None:
        from .special import apply_special

        return apply_special(op, inputs, parameters, compute)
    if op.vjp is None:
        recording = False
    arrays = []
    edges = []
    mask, bit = 0, 1  # which inputs want a gradient
    half = numbered = False
    for x in inputs:
        edge: Any = None
        if isinstance(x, Tensor):
            array = x._data
            arrays.append(array)
            dtype = array.dtype
            if dtype is not _FLOAT32 and dtype.char in HALF_CODES:
                half = True
            if recording:
                if x._base is not None:
                    current_node(x)
                edge = x._node
                if edge is None and x._requires_grad:
                    edge = x
                if edge is not None:
                    mask |= bit
                    if x._output_nr:
                        numbered = True
        else:
            arrays.append(x)
        edges.append(edge)
        bit += bit
    if compute is not None or half:
        data = run_forward(op, arrays, parameters, compute)
    else:
        data = quietly(op.forward, *arrays, **parameters)
        if isinstance(data, np.generic):
            data = np.asarray(data)  # once: what a node saves and the tensor are the same memory
        if op.layout is not None and (op.outputs != 1 or data.ndim > 1):
            data = op.layout(data, arrays)
    node = None
    if mask:
        node = record(op, inputs, tuple(edges), mask, numbered, parameters, data)
    if op.outputs != 1 or op.is_view:
        return dress(op, inputs, parameters, data, node)
    out = make(data)
    if node is not None and node.dtype.kind in "fcV":
        out._node = node
        if op.saves_output and node.saved and node.saved[-1] is not None:
            node.versions.append((out._version_box, 0, -1))
    return out


def apply_one(op: Op, x: Tensor, parameters: dict[str, Any] = NO_PARAMETERS) -> Any:
    """`apply` on one tensor, with nothing to promote: the same, without the loops."""
    recording, quietly = modes.way
    if recording is None:
        return apply(op, (x,), parameters)
    array = x._data
    dtype = array.dtype
    if dtype is not _FLOAT32 and dtype.char in HALF_CODES:
        data = run_forward(op, [array], parameters)
    else:
        data = quietly(op.forward, array, **parameters)
        if isinstance(data, np.generic):
            data = np.asarray(data)
        if op.layout is not None and (op.outputs != 1 or data.ndim > 1):
            data = op.layout(data, (array,))
    node = None
    if recording and op.vjp is not None:
        if x._base is not None:
            current_node(x)
        edge: Any = x._node
        if edge is None and x._requires_grad:
            edge = x
        if edge is not None:
            node = record(op, (x,), (edge,), 1, x._output_nr != 0, parameters, data)
    if op.outputs != 1 or op.is_view:
        return dress(op, (x,), parameters, data, node)
    out = make(data)
    if node is not None and node.dtype.kind in "fcV":
        out._node = node
        if op.saves_output and node.saved and node.saved[-1] is not None:
            node.versions.append((out._version_box, 0, -1))
    return out


def apply_two(op: Op, x: Tensor, y: Tensor, parameters: dict[str, Any] = NO_PARAMETERS) -> Any:
    """`apply` on two tensors of one dtype, with one result: the same, without the loops."""
    recording, quietly = modes.way
    a, b = x._data, y._data
    dtype = a.dtype
    if recording is None or (dtype is not _FLOAT32 and dtype.char in HALF_CODES):
        return apply(op, (x, y), parameters)
    data = quietly(op.forward, a, b, **parameters)
    if isinstance(data, np.generic):
        data = np.asarray(data)
    if op.layout is not None and data.ndim > 1:
        data = op.layout(data, (a, b))
    out = make(data)
    if not recording or op.vjp is None:
        return out
    first: Any = x._node if x._base is None else current_node(x)
    if first is None and x._requires_grad:
        first = x
    second: Any = y._node if y._base is None else current_node(y)
    if second is None and y._requires_grad:
        second = y
    mask = (first is not None) + 2 * (second is not None)
    if mask:
        numbered = bool(x._output_nr or y._output_nr)
        node = record(op, (x, y), (first, second), mask, numbered, parameters, data)
        if node.dtype.kind in "fcV":
            out._node = node
            if op.saves_output and node.saved and node.saved[-1] is not None:
                node.versions.append((out._version_box, 0, -1))
    return out


def run_forward(op: Op, arrays: list[Any], parameters: dict[str, Any], compute: Any = None) -> Any:
    """The forward on arrays, with promotion and half-precision arithmetic done around it."""
    half = None
    given = arrays
    if op.half_kernel is not None:
        data = _in_half(op, arrays, parameters, compute)
        if data is not None:
            return data if op.layout is None else op.layout(data, given)
    if compute is not None:
        if compute in HALVES and op.opmath:
            half, compute = compute, _FLOAT32
        arrays = modes.quietly(_cast, arrays, compute)
    elif op.opmath:
        for a in arrays:
            if getattr(a, "dtype", None) in HALVES:
                half = a.dtype if half is None or half == a.dtype else _FLOAT32
        if half is not None:
            arrays = [
                np.astype(a, _FLOAT32) if getattr(a, "dtype", None) in HALVES else a for a in arrays
            ]
    data = modes.quietly(op.forward, *arrays, **parameters)
    if half is not None:
        if op.outputs > 1:  # what is kept for the gradient only (a mean, a deviation) stays exact
            rounded = op.differentiable_outputs
            data = tuple(
                [modes.quietly(to_half, d, half) if i in rounded else d for i, d in enumerate(data)]
            )
        else:
            data = modes.quietly(to_half, data, half)
    return data if op.layout is None else op.layout(data, given)


def _in_half(op: Op, arrays: list[Any], parameters: dict[str, Any], compute: Any) -> Any:
    """What a kernel gives that takes half precision as it is, or None."""
    if compute is not None:
        if compute not in HALVES:
            return None
        arrays = modes.quietly(_cast, arrays, compute)
    return modes.quietly(op.half_kernel, *arrays, **parameters)


def _cast(arrays: list[Any], kind: Any) -> list[Any]:
    return [
        a.astype(kind)
        if isinstance(a, np.ndarray) and a.dtype != kind
        else np.astype(a, kind)
        if hasattr(a, "__array_ufunc__") and a.dtype != kind
        else a
        for a in arrays
    ]


def to_half(data: Any, half: Any) -> Any:
    """Round float32 results of half-precision inputs back."""
    if isinstance(data, (tuple, list)):
        return type(data)(to_half(d, half) for d in data)
    return (
        np.astype(np.asarray(data) if isinstance(data, np.generic) else data, half)
        if data.dtype == _FLOAT32
        else data
    )


def wrap(op: Op, inputs: tuple[Any, ...], parameters: dict[str, Any], data: Any) -> Any:
    """Tensors around the results, with a node if an input wants a gradient."""
    node = None
    if modes.grad and op.vjp is not None and not modes.inference:
        edges = tuple([edge_of(x) if isinstance(x, Tensor) else None for x in inputs])
        mask = sum(1 << i for i, edge in enumerate(edges) if edge is not None)
        if mask:
            node = watched(record(op, inputs, edges, mask, True, parameters, data))
    return dress(op, inputs, parameters, data, node)


def dress(
    op: Op, inputs: tuple[Any, ...], parameters: dict[str, Any], data: Any, node: Node | None
) -> Any:
    """Tensors around the results of an operation; a view is tied to its base, a result to its node."""
    if op.outputs != 1:
        return wrap_several(op, inputs, parameters, data, node)
    out = make(data)
    if op.is_view:
        as_view(out, op, inputs[0], parameters, None)
    if node is not None and node.dtype.kind in "fcV":
        out._node = node
        if op.saves_output and node.saved and node.saved[-1] is not None:
            node.versions.append((out._version_box, out._version_box[0], -1))
    if modes.inference:
        as_inference(out)
    return out


def wrap_several(
    op: Op, inputs: tuple[Any, ...], parameters: dict[str, Any], data: Any, node: Node | None
) -> tuple[Tensor, ...]:
    outs = tuple([make(d) for d in data])
    if node is not None and op.saves_output and node.saved[-1] is not None:
        kept = op.kept_outputs
        for out in outs[1:]:
            if out._data is data[0]:  # kept for the gradient: the same memory, the same versions
                out._version_box = outs[0]._version_box
        node.versions.extend(
            (out._version_box, 0, -1) for i, out in enumerate(outs) if kept is None or i in kept
        )
    differentiable = range(len(outs)) if op.outputs == 0 else op.differentiable_outputs
    for i, out in enumerate(outs):
        if op.is_view:
            as_view(out, op, inputs[0], parameters, i)
        if node is not None and i in differentiable and out._data.dtype.kind in "fcV":
            out._node = node
            out._output_nr = i
        if modes.inference:
            as_inference(out)
    return outs


def as_view(
    out: Tensor, op: Op, source: Tensor, parameters: dict[str, Any], index: int | None
) -> None:
    """Mark `out` as a view: it shares the version counter and knows the way from its base."""
    if source._is_inference:  # nothing keeps track of inference tensors
        out._is_inference = True
        out._version_box = source._version_box
        return
    base = source._base
    if base is None:
        base = source
    out._base = base
    out._view = (*source._view, (op, parameters, index))
    out._version_box = box = base._version_box
    out._seen_version = box[0]
    if not modes.grad:
        out._view_creation = "no_grad"
        # It wants a gradient as its base does, though none will get there.
        out._requires_grad = base.requires_grad
    elif index is not None:
        out._view_creation = "multi_output"
    elif source._view_creation is not None:
        out._view_creation = source._view_creation


def edge_of(tensor: Tensor) -> Any:
    """What produced this tensor: its node, itself if it is a leaf that wants a gradient, or None."""
    if tensor._base is not None:
        current_node(tensor)
    node = tensor._node
    if node is not None:
        return node
    return tensor if tensor._requires_grad else None


def record(
    op: Op,
    inputs: tuple[Any, ...],
    edges: tuple[Any, ...],
    mask: int,
    numbered: bool,
    parameters: dict[str, Any],
    data: Any,
) -> Node:
    """A node for an operation that just ran.

    `mask` has a bit for each input with an edge; `numbered` says that some input may be other than
    the first output of its edge.
    """
    node = (op.node_type or node_type(op))()
    node.edges = edges
    if op.parameters:
        node.parameters = parameters
    node.sequence = next_sequence()
    node.mark = 0
    frame = _getframe(2)
    code = frame.f_code
    while internal[code.co_filename] and frame.f_back is not None:
        frame = frame.f_back
        code = frame.f_code
    node.code = code
    node.instruction = frame.f_lasti
    if numbered:
        numbers = tuple([x._output_nr if isinstance(x, Tensor) else 0 for x in inputs])
        if any(numbers):
            node.edge_nrs = numbers
    if not op.saves_nothing:
        if op.variadic:
            mask = -1
        slots, saves_output = op._plans.get(mask) or op.plan(mask)
        if op.variadic:
            _save_all(node, inputs, slots)
        elif slots or saves_output:
            node.saved = saved = [None] * (len(inputs) + 1)
            node.versions = versions = []
            for i in slots:
                x = inputs[i]
                if isinstance(x, Tensor):
                    if x._is_inference:
                        _refuse_inference()
                    saved[i] = x._data
                    box = x._version_box
                    versions.append((box, box[0], i))
                else:
                    saved[i] = x
        else:
            node.saved = node.versions = ()
        if saves_output:
            kept = op.kept_outputs
            node.saved[-1] = (
                data
                if kept is None
                else tuple([d if i in kept else None for i, d in enumerate(data)])
            )
    if op.shape_inputs:
        node.shapes = tuple([x._data.shape if isinstance(x, Tensor) else () for x in inputs])
    if op.dtype_inputs:
        node.dtypes = tuple([x._data.dtype if isinstance(x, Tensor) else None for x in inputs])
    if op.outputs == 1:
        node.shape = data.shape
        node.dtype = data.dtype
    else:
        node.shape = node.dtype = None
        node.outputs = [(d.shape, d.dtype) for d in data]
    return node


def watched(node: Node) -> Node:
    """A node recorded in a special mode: anomaly detection wants to know its stack."""
    if modes.anomaly:
        from .anomaly import remember_stack

        remember_stack(node)
    return node


def _save_all(node: Any, inputs: tuple[Any, ...], slots: tuple[int, ...]) -> None:
    """What `record` keeps of an operation on any number of tensors: all of them, or none."""
    arrays = tuple([x._data for x in inputs]) if slots else None
    node.saved = [arrays, None]
    node.versions = [(x._version_box, x._version_box[0], i) for i, x in enumerate(inputs) if slots]


def _refuse_inference() -> None:
    raise RuntimeError(
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
        "inference mode in computation tracked by autograd. To work around this, you can make a "
        "clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
        "`torch.inference_mode()`."
    )
