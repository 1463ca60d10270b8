"""One step of the chain rule: from the gradient of a node's output to those of its inputs.

Rules neither undo broadcasting nor cast. That is done here, once, for all of them: `fit` gives each
gradient the shape and dtype of the tensor it belongs to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.batching.levels import sum_level
from ..._arrays.dtypes import HALF_CODES, HALVES
from ..._arrays.sums import broadcast_axes, exact_sum
from ..._tensor.tensor import Tensor
from ..apply import apply
from ..modes import modes, shared
from ..node import Node, recorded_at
from ..saved import unpack
from .arrivals import as_grad_tensor, call_node_hooks, call_prehooks

_FLOAT32 = np.dtype(np.float32)


def run_node(node: Node, gradient: Any, lifted: bool) -> Any:
    """One step of the chain rule: gradients of a node's inputs from that of its output."""
    if shared.ordinary or not modes.anomaly:
        return _run_node(node, gradient, lifted)
    from .anomaly import check_finite, running, show_forward

    try:
        with running(node):
            grads = _run_node(node, gradient, lifted)
        check_finite(node, grads)
    except BaseException:
        show_forward(node)
        raise
    return grads


def called(node: Node, gradients: tuple[Any, ...]) -> Any:
    """A node as a function of its outputs' gradients; recorded where a graph is."""
    expected = 1 if node.outputs is None else len(node.outputs)
    if len(gradients) != expected:
        raise TypeError(f"expected {expected} arguments, got {len(gradients)} instead")
    for i, gradient in enumerate(gradients):
        if gradient is not None and not isinstance(gradient, Tensor):
            raise TypeError(f"argument {i} is not a Variable")
    lifted = modes.grad
    values = [g if g is None or lifted else g._data for g in gradients]
    found = run_node(node, values[0] if node.outputs is None else values, lifted)
    results: list[Any] = []
    for i, (edge, grad) in enumerate(zip(node.edges, found, strict=True)):
        if grad is not None and edge is not None:
            nr = node.edge_nrs[i] if node.edge_nrs else 0
            like = edge._data if edge.is_leaf_edge else None
            shape, dtype = edge._input_metadata_of(nr) if like is None else (like.shape, like.dtype)
            grad = fit(node, i, grad, shape, dtype, lifted)
        results.append(as_grad_tensor(grad))
    return results[0] if len(results) == 1 else tuple(results)


def _run_node(node: Node, gradient: Any, lifted: bool) -> Any:
    if node.prehooks:
        gradient = call_prehooks(node, gradient, lifted)
    custom = getattr(type(node), "run_custom", None)
    if custom is not None:
        grads = custom(node, gradient, lifted)
    elif gradient is None:
        grads = (None,) * len(node.edges)
    elif lifted or node.packed is not None:
        from ..lifted import run_lifted

        grads = run_lifted(node, gradient, lifted)
    else:
        grads = modes.quietly(run_rules, node, gradient)
    if node.hooks:
        grads = call_node_hooks(node, grads, gradient, lifted)
    return grads


def run_rules(node: Node, g: Any) -> Any:
    """A node's rules on raw arrays."""
    op = node.op
    saved = () if op.saves_nothing else unpack(node)
    if node.dtype is not _FLOAT32:  # neither several outputs nor half precision: the usual
        if node.shape is None:
            g = _several(node, g)
        if op.opmath and _is_half(node) and not (op.takes_half and op.takes_half(g)):
            saved = _widen(_as_promoted(op, saved, node.dtype) if node.shape is not None else saved)
            g = _widen(g)
    return (op.rules or op.joined_rules())(node, node.edges, g, saved)


def _several(node: Node, g: Any) -> Any:
    """Gradients of several outputs, with zeros where none arrived; None for what has no gradient."""
    op = node.op
    some = next((x for x in g if x is not None), None)
    assert node.outputs is not None
    if op.outputs and len(op.differentiable_outputs) == 1:
        return g[op.differentiable_outputs[0]]
    having = op.differentiable_outputs if op.outputs else range(len(node.outputs))
    return tuple(
        np.zeros_like(some, shape=shape, dtype=dtype) if x is None and i in having else x
        for i, (x, (shape, dtype)) in enumerate(zip(g, node.outputs, strict=True))
    )


def _is_half(node: Node) -> bool:
    if node.shape is not None:
        return node.dtype.char in HALF_CODES
    return any(dtype.char in HALF_CODES for _, dtype in node.outputs)


def _as_promoted(op: Any, saved: Any, half: Any) -> Any:
    """Operands of whole numbers, rounded as promotion rounded them for the result (one byte is exact in
    half precision, and an index, which has no rule, is no operand)."""
    if op.variadic or op.joint:
        return saved
    return [
        np.astype(x, half) if i < len(op.inputs) and op.has_rule(i) and _is_wide(x) else x
        for i, x in enumerate(saved)
    ]


def _is_wide(x: Any) -> bool:
    return bool(getattr(x, "ndim", 0) and x.dtype.kind in "iu" and x.dtype.itemsize > 1)


def _widen(value: Any) -> Any:
    """Half-precision arrays in float32, for the arithmetic of a rule."""
    if isinstance(value, (tuple, list)):
        return [_widen(v) for v in value]
    if getattr(value, "dtype", None) in HALVES:
        return np.astype(np.asarray(value) if isinstance(value, np.generic) else value, _FLOAT32)
    return value


def _dtype_of(grad: Any) -> Any:
    return grad._data.dtype if isinstance(grad, Tensor) else grad.dtype


def fit(node: Node, i: int, grad: Any, shape: Any, dtype: Any, lifted: bool) -> Any:
    """Undo broadcasting and promotion: a gradient has the shape and dtype of its tensor."""
    have, want = grad.shape, shape
    if type(want) is not tuple or type(have) is not tuple:
        levels = getattr(_data_of(grad).shape, "levels", ())
        if levels:
            grad = _sum_batches(grad, set(levels) - set(getattr(shape, "levels", ())), lifted)
        have, want = tuple(grad.shape), tuple(shape)
    if have != want:
        axes = broadcast_axes(have, want)
        if axes is None:
            _refuse_shape(node, i, grad, shape)
        elif lifted:
            grad = grad.sum(axes, keepdim=True).reshape(want)
        elif want and len(axes) == len(have) - len(want):  # leading ones only, as of a bias
            grad = exact_sum(grad, axes)
        else:
            grad = np.reshape(exact_sum(grad, axes, True), want)
    return grad if _dtype_of(grad) == dtype else _cast(grad, dtype, lifted)


def _refuse_shape(node: Node, i: int, grad: Any, shape: Any) -> None:
    rule = ""
    if node.op is not None:
        rule = f" (the rule for '{node.op.inputs[min(i, len(node.op.inputs) - 1)]}')"
    raise RuntimeError(
        f"Function {node.name()} returned an invalid gradient at index {i} - got "
        f"{list(grad.shape)} but expected shape compatible with {list(shape)}{rule}"
        + recorded_at(node)
    )


def _data_of(grad: Any) -> Any:
    return grad._data if isinstance(grad, Tensor) else grad


def _sum_batches(grad: Any, levels: set[int], lifted: bool) -> Any:
    """A tensor that is the same for every example gets the sum of the examples' gradients.

    Not so in a vmap that is still open: there each example takes a gradient by itself.
    """
    for level in levels - {one.number for one in modes.vmap_levels}:
        if lifted:
            from ..transforms.vmap import sum_batch_op

            grad = apply(sum_batch_op, (grad,), {"level": level})
        else:
            grad = sum_level(grad, level)
    return grad


def _cast(grad: Any, dtype: Any, lifted: bool) -> Any:
    to_real = dtype.kind != "c" and _dtype_of(grad).kind == "c"
    if lifted:
        from ..._arrays.dtypes import from_numpy_dtype

        return (grad.real if to_real else grad).to(from_numpy_dtype(dtype))
    if to_real:
        grad = np.real(grad)
    elif hasattr(type(grad), "raw"):
        return grad.astype(dtype)
    return np.astype(np.asarray(grad) if isinstance(grad, np.generic) else grad, dtype)
