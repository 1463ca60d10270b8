"""Applying an operation: run its forward on raw arrays and, if asked to, record a node."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays.devices import is_meta, one_device
from .._arrays.dtypes import HALVES
from .._ops.declare.record import NO_PARAMETERS, Op
from .._tensor.tensor import Tensor, current_node, make
from .inference import as_inference
from .modes import modes
from .node import Node

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
    return op.apply(inputs, parameters, compute)


def run_forward(
    op: Op, arrays: list[Any], parameters: dict[str, Any], compute: Any, quietly: Any
) -> Any:
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
            arrays = modes.quietly(_rounded, arrays, half, op.exact_second)
        arrays = modes.quietly(_cast, arrays, compute)
    elif op.opmath:
        for a in arrays:
            if getattr(a, "dtype", None) in HALVES:
                half = a.dtype if half is None or half == a.dtype else _FLOAT32
        if half is not None:
            arrays = [
                np.astype(a, _FLOAT32) if getattr(a, "dtype", None) in HALVES else a for a in arrays
            ]
    data = quietly(op.forward, *arrays, **parameters)
    if half is not None:
        if op.outputs > 1:  # what is kept for the gradient only (a mean, a deviation) stays exact
            rounded = op.differentiable_outputs
            data = tuple(
                [modes.quietly(to_half, d, half) if i in rounded else d for i, d in enumerate(data)]
            )
        else:
            data = modes.quietly(to_half, data, half)
    if type(data) is not np.ndarray:
        data = settled(op, data, given)
    return data if op.layout is None else op.layout(data, given)


def settled(op: Op, data: Any, operands: Any) -> Any:
    """A result that is none of NumPy's arrays: NumPy's scalars become arrays, and one without elements is
    refused where an operand has some. (Only here are devices compared: ordinary results never come by.)"""
    if isinstance(data, np.generic):
        return np.asarray(data)
    if is_meta(data):
        _one_device(op, operands)
    return data


def _one_device(op: Op, operands: Any) -> None:
    """Refuse operands with elements beside those without. Indices may be in main memory, as for a GPU."""
    derivable = op.vjp is not None and not op.variadic
    one_device(
        [a for i, a in enumerate(operands) if not derivable or op.has_rule(i) or not _is_index(a)]
    )


def _is_index(array: Any) -> bool:
    return type(array) is np.ndarray and array.dtype.kind in "iu"


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


def _rounded(arrays: list[Any], half: Any, exact_second: bool) -> list[Any]:
    """Promotion to half precision rounds, though the arithmetic after it is that of float32."""
    return [
        a
        if getattr(a, "dtype", half) == half or (exact_second and i == 1 and not a.ndim)
        else np.astype(a, half)
        for i, a in enumerate(arrays)
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
    """Tensors around the results of an operation in a special mode, with a node if an input wants a
    gradient."""
    node = None
    if modes.grad and op.vjp is not None and not modes.inference:
        edges = tuple([edge_of(x) if isinstance(x, Tensor) else None for x in inputs])
        if any(edge is not None for edge in edges):
            node = watched(op.record(inputs, edges, parameters, data))
    if op.outputs == 1:
        out = tied(op, inputs, parameters, data, node)
        if modes.inference:
            as_inference(out)
        return out
    outs = wrap_several(op, inputs, parameters, data, node)
    if modes.inference:
        for out in outs:
            as_inference(out)
    return outs


def tied(
    op: Op, inputs: tuple[Any, ...], parameters: dict[str, Any], data: Any, node: Node | None
) -> Tensor:
    """A tensor around the result of an operation; a view is tied to its base, a result to its node."""
    out = make(data)
    if op.is_view:
        as_view(out, op, inputs[0], parameters, None)
    if node is not None and node.dtype.kind in "fcV":
        out._node = node
        if op.saves_output and node.saved and node.saved[-1] is not None:
            node.versions.append((out._version_box, out._version_box[0], -1))
    return out


def wrap_several(
    op: Op, inputs: tuple[Any, ...], parameters: dict[str, Any], data: Any, node: Node | None
) -> tuple[Tensor, ...]:
    """The same for several results."""
    outs = tuple([make(d) for d in data])
    if outs and is_meta(outs[0]._data):
        _one_device(op, [x._data if isinstance(x, Tensor) else x for x in inputs])
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


def watched(node: Node) -> Node:
    """A node recorded in a special mode: anomaly detection wants to know its stack."""
    if modes.anomaly:
        from .backward_pass.anomaly import remember_stack

        remember_stack(node)
    return node
