"""Backward: walk the recorded graph from its roots, latest node first, and apply the chain rule.

First a pass counts how many edges lead to each node, so that a node runs once, when every
gradient that flows into it has arrived. Nodes that are ready wait in a heap, ordered by when they
were recorded. Nothing recurses, so depth is bounded by memory alone.

Gradients are raw arrays, and rules run on raw arrays. Only under `create_graph=True` (or inside
forward mode) are they tensors: then the same rules run on `Lifted` tensors and are recorded.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from heapq import heappop, heappush
from sys import getrefcount
from typing import Any

import numpy as np

from .._arrays.batched import sum_level
from .._arrays.dtypes import bfloat16, float16
from .._arrays.quiet import hush, unhush
from .._tensor.tensor import Tensor, make
from .apply import apply, edge_of
from .hooks import call_tensor_hooks
from .modes import modes
from .node import FREED, Node
from .saved import release, unpack

_HALVES = frozenset((float16.numpy, bfloat16.numpy))
_HALF_CODES = frozenset(d.char for d in _HALVES)
_FLOAT32 = np.dtype(np.float32)
_accumulate_lock = threading.Lock()


def run_backward(
    roots: Sequence[Tensor],
    gradients: Sequence[Any],
    *,
    retain_graph: bool,
    create_graph: bool,
    inputs: Sequence[Tensor] | None = None,
    accumulate: bool = True,
    keep_level: int | None = None,
) -> list[Any] | None:
    """Differentiate `roots`; add to leaves' `.grad`, or return gradients of `inputs`.

    With `inputs`, only what lies between them and the roots runs. `accumulate=False` captures the
    gradients (raw arrays or tensors, None where unused) and touches no `.grad`. `keep_level` is the
    level of a batch of gradients, each of which is to be carried through by itself.
    """
    lifted = create_graph or modes.forward_level > 0
    captures = _Captures(inputs) if inputs is not None else None
    pending: dict[Any, Any] = {}
    starts = []
    for root, gradient in zip(roots, gradients, strict=True):
        edge = edge_of(root)
        if edge is None:
            continue
        deliver(pending, edge, root._output_nr, gradient if lifted else gradient._data)
        starts.append(edge)
    needed = captures.needed(starts) if captures is not None else None
    counts = _count_dependencies(starts, needed)

    before = modes.grad, modes.run
    modes.grad = create_graph
    modes.run = _Run(counts, starts, keep_level, inputs is not None)
    token = hush()
    try:
        heap: list[Any] = []
        for edge in dict.fromkeys(starts):
            if edge not in counts:
                _ready(edge, heap, pending, captures, accumulate, lifted)
        anomaly = modes.anomaly
        while heap:
            node = heappop(heap)[1]
            gradient = pending.pop(node, None)
            if captures is not None or node.unusual:
                gradient = _arrive(node, gradient, captures, accumulate, lifted)
                if needed is not None and node not in needed.through:
                    continue
            if lifted or anomaly or gradient is None or node.unusual:
                grads = run_node(node, gradient, lifted)
            else:
                grads = run_rules(node, gradient)
            if not retain_graph and node.saved:
                release(node)
            edges = node.edges
            if len(grads) != len(edges):
                _wrong_count(node, len(grads))
            numbers = node.edge_nrs
            for i, edge in enumerate(edges):
                if edge is None or (needed is not None and edge not in needed.all):
                    continue
                grad = grads[i]
                if grad is not None:
                    nr = numbers[i] if numbers is not None else 0
                    if edge.is_leaf_edge:
                        data = edge._data
                        shape, dtype = data.shape, data.dtype
                    elif edge.shape is not None:
                        shape, dtype = edge.shape, edge.dtype
                    else:
                        shape, dtype = edge.outputs[nr]
                    if lifted:
                        if grad._data.shape != shape or grad._data.dtype != dtype:
                            grad = _fit(node, i, grad, shape, dtype, True)
                    elif grad.shape != shape or grad.dtype != dtype:
                        grad = _fit(node, i, grad, shape, dtype, False)
                    if edge in pending or (not edge.is_leaf_edge and edge.shape is None):
                        deliver(pending, edge, nr, grad)
                    else:
                        pending[edge] = grad
                left = counts[edge] - 1
                if left:
                    counts[edge] = left
                elif edge.is_leaf_edge:
                    # Nothing but `pending` may hold the gradient while the leaf decides whether
                    # it can take the array as its own.
                    grad = None
                    if len(edges) == 1:
                        grads = ()
                    _ready(edge, heap, pending, captures, accumulate, lifted)
                else:
                    heappush(heap, (-edge.sequence, edge))
    finally:
        unhush(token)
        modes.grad, modes.run = before
    return captures.gradients if captures is not None else None


next_run_number = itertools.count().__next__


class _Run:
    """One backward pass: which edges it will reach."""

    __slots__ = ("counts", "has_inputs", "keep_level", "number", "starts")

    def __init__(
        self, counts: dict[Any, int], starts: list[Any], keep_level: int | None, has_inputs: bool
    ) -> None:
        self.counts = counts
        self.starts = starts
        self.keep_level = keep_level
        self.has_inputs = has_inputs
        self.number = next_run_number()


def current_run() -> Any:
    """The backward pass this thread is in, as an object to compare by identity."""
    return modes.run


def tensors_reached(run: _Run, tensors: Sequence[Tensor]) -> int:
    """How many of these tensors a backward pass reaches."""
    edges = (edge_of(t) for t in tensors)
    return sum(edge is not None and (edge in run.counts or edge in run.starts) for edge in edges)


def _dtype_of(grad: Any) -> Any:
    return grad._data.dtype if isinstance(grad, Tensor) else grad.dtype


def _ready(
    edge: Any,
    heap: list[Any],
    pending: dict[Any, Any],
    captures: Any,
    accumulate: bool,
    lifted: bool,
) -> None:
    """Every gradient for this edge has arrived: accumulate a leaf's, queue a node."""
    if not edge.is_leaf_edge:
        heappush(heap, (-edge.sequence, edge))
        return
    if captures is not None and edge in captures.slots:
        grad = pending.pop(edge, None)
        if accumulate:
            if grad is not None:
                accumulate_leaf(edge, grad, lifted)
        else:
            captures.take(edge, 0, _leaf_hooks(edge, grad, lifted))
        return
    if edge in pending:
        # Nothing here may hold the gradient while the leaf decides whether it owns it.
        accumulate_leaf(edge, pending.pop(edge), lifted)


def deliver(pending: dict[Any, Any], edge: Any, nr: int, grad: Any) -> None:
    """Add a gradient to what has already arrived at an edge."""
    if edge.is_leaf_edge or edge.outputs is None:
        present = pending.get(edge)
        pending[edge] = grad if present is None else present + grad
        return
    slots = pending.get(edge)
    if slots is None:
        slots = pending[edge] = [None] * len(edge.outputs)
    slots[nr] = grad if slots[nr] is None else slots[nr] + grad


def _count_dependencies(starts: list[Any], needed: Any) -> dict[Any, int]:
    counts: dict[Any, int] = {}
    stack = [edge for edge in dict.fromkeys(starts) if not edge.is_leaf_edge]
    seen = set(stack)
    while stack:
        for edge in stack.pop().edges:
            if edge is None or (needed is not None and edge not in needed.all):
                continue
            if edge in counts:
                counts[edge] += 1
            else:
                counts[edge] = 1
                if not edge.is_leaf_edge and edge not in seen:
                    stack.append(edge)
    return counts


def run_node(node: Node, gradient: Any, lifted: bool) -> Any:
    """One step of the chain rule: gradients of a node's inputs from that of its output."""
    if node.prehooks:
        gradient = _call_prehooks(node, gradient, lifted)
    custom = getattr(type(node), "run_custom", None)
    if custom is not None:
        grads = custom(node, gradient, lifted)
    elif gradient is None:
        grads = (None,) * len(node.edges)
    elif lifted or node.packed is not None:
        from .lifted import run_lifted

        grads = run_lifted(node, gradient, lifted)
    else:
        grads = run_rules(node, gradient)
    if modes.anomaly:
        from .anomaly import check_finite

        check_finite(node, grads)
    if node.hooks:
        grads = _call_hooks(node, grads, gradient, lifted)
    return grads


def run_rules(node: Node, g: Any) -> Any:
    """Run a node's rules on raw arrays."""
    op = node.op
    saved = node.saved
    if saved != ():
        saved = unpack(node)
    if node.shape is None:
        g = _several(node, g)
    if op.opmath and _is_half(node):
        saved = _widen(saved)
        g = _widen(g)
    edges = node.edges
    if op.joint:
        needs = tuple([edge is not None for edge in edges])
        rule = op.vjp
        shapes = node.shapes if op.shape_inputs else None
        return rule.call(rule.rule, g, saved, shapes, node.dtypes, node.parameters, needs)
    shapes = node.shapes if op.shape_inputs else None
    parameters, dtypes = node.parameters, node.dtypes
    return [
        None if edge is None else rule.call(rule.rule, g, saved, shapes, dtypes, parameters, None)
        for edge, rule in zip(edges, op.vjp, strict=True)
    ]


def _several(node: Node, g: Any) -> Any:
    """Gradients of several outputs, with zeros where none arrived."""
    op = node.op
    some = next((x for x in g if x is not None), None)
    assert node.outputs is not None
    if op.outputs and len(op.differentiable_outputs) == 1:
        return g[op.differentiable_outputs[0]]
    return tuple(
        np.zeros_like(some, shape=shape, dtype=dtype) if x is None else x
        for x, (shape, dtype) in zip(g, node.outputs, strict=True)
    )


def _is_half(node: Node) -> bool:
    if node.shape is not None:
        return node.dtype.char in _HALF_CODES
    return any(dtype.char in _HALF_CODES for _, dtype in node.outputs)


def _widen(value: Any) -> Any:
    """Half-precision arrays in float32, for the arithmetic of a rule."""
    if isinstance(value, (tuple, list)):
        return [_widen(v) for v in value]
    if getattr(value, "dtype", None) in _HALVES:
        return np.astype(np.asarray(value) if isinstance(value, np.generic) else value, _FLOAT32)
    return value


def _fit(node: Node, i: int, grad: Any, shape: Any, dtype: Any, lifted: bool) -> Any:
    """Undo broadcasting and promotion: a gradient has the shape and dtype of its tensor."""
    levels = getattr(_data_of(grad).shape, "levels", ())
    if levels:
        grad = _sum_batches(grad, set(levels) - set(getattr(shape, "levels", ())), lifted)
    if tuple(grad.shape) != tuple(shape):
        if not can_unbroadcast(tuple(grad.shape), tuple(shape)):
            name = (
                node.op.inputs[min(i, len(node.op.inputs) - 1)] if node.op is not None else str(i)
            )
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient at index {i} - got "
                f"{list(grad.shape)} but expected shape compatible with {list(shape)}"
                + (f" (the rule for '{name}')" if node.op is not None else "")
            )
        grad = unbroadcast(grad, tuple(shape), lifted)
    if _dtype_of(grad) != dtype:
        grad = _cast(grad, dtype, lifted)
    return grad


def _data_of(grad: Any) -> Any:
    return grad._data if isinstance(grad, Tensor) else grad


def _sum_batches(grad: Any, levels: set[int], lifted: bool) -> Any:
    """A tensor that is the same for every example gets the sum of the examples' gradients."""
    for level in levels:
        if level == modes.run.keep_level:
            continue
        if lifted:
            from .vmap import sum_batch_op

            grad = apply(sum_batch_op, (grad,), {"level": level})
        else:
            grad = sum_level(grad, level)
    return grad


def can_unbroadcast(have: tuple[int, ...], want: tuple[int, ...]) -> bool:
    if len(have) < len(want):
        return False
    tail = have[len(have) - len(want) :]
    return all(w in (1, h) for h, w in zip(tail, want, strict=True))


def unbroadcast(grad: Any, shape: tuple[int, ...], lifted: bool = False) -> Any:
    """Sum a gradient over the dimensions along which its tensor was broadcast."""
    extra = len(grad.shape) - len(shape)
    axes = tuple(range(extra)) + tuple(
        i + extra for i, n in enumerate(shape) if n == 1 and grad.shape[i + extra] != 1
    )
    if lifted:
        total = grad.sum(axes, keepdim=True) if axes else grad
        return total.reshape(shape)
    return np.reshape(np.sum(grad, axis=axes, keepdims=True), shape)


def _cast(grad: Any, dtype: Any, lifted: bool) -> Any:
    to_real = dtype.kind != "c" and _dtype_of(grad).kind == "c"
    if lifted:
        from .._arrays.dtypes import from_numpy_dtype

        return (grad.real if to_real else grad).to(from_numpy_dtype(dtype))
    if to_real:
        grad = np.real(grad)
    return np.astype(np.asarray(grad) if isinstance(grad, np.generic) else grad, dtype)


# --- hooks, captures, retained gradients -------------------------------------------------------


def as_grad_tensor(grad: Any) -> Any:
    """A gradient as users see it."""
    return grad if grad is None or isinstance(grad, Tensor) else make(grad)


def _unwrap(grad: Any, lifted: bool) -> Any:
    return grad if grad is None or lifted else grad._data


def _arrive(node: Node, gradient: Any, captures: Any, accumulate: bool, lifted: bool) -> Any:
    """Hooks of the node's output tensors, retained gradients and captures, in PyTorch's order."""
    several = node.outputs is not None
    slots = list(gradient) if several and gradient is not None else [gradient]
    for nr in range(len(slots)):
        if node.tensor_hooks and node.tensor_hooks.get(nr) and slots[nr] is not None:
            result = call_tensor_hooks(node.tensor_hooks[nr], as_grad_tensor(slots[nr]))
            slots[nr] = _unwrap(result, lifted)
        if node.retained and nr in node.retained and slots[nr] is not None:
            tensor = node.retained[nr]()
            if tensor is not None:
                _add_to_grad(tensor, slots[nr], lifted, anew=True)
        if captures is not None and (node, nr) in captures.slots:
            if accumulate:
                if slots[nr] is not None:
                    for tensor in captures.tensors[(node, nr)]:
                        if not tensor._retains_grad:
                            _add_to_grad(tensor, slots[nr], lifted)
            else:
                captures.take(node, nr, slots[nr])
    if gradient is None:
        return None
    return slots if several else slots[0]


def _call_prehooks(node: Node, gradient: Any, lifted: bool) -> Any:
    several = node.outputs is not None
    values = (
        tuple(as_grad_tensor(g) for g in (gradient or ()))
        if several
        else (as_grad_tensor(gradient),)
    )
    for hook in list(node.prehooks.values()):
        result = hook(values)
        if result is not None:
            values = result if isinstance(result, tuple) else (result,)
    unwrapped = [_unwrap(v, lifted) for v in values]
    return unwrapped if several else unwrapped[0]


def _call_hooks(node: Node, grads: Any, gradient: Any, lifted: bool) -> Any:
    several = node.outputs is not None
    incoming = tuple(as_grad_tensor(g) for g in (gradient if several else (gradient,)))
    values = tuple(as_grad_tensor(g) for g in grads)
    for hook in list(node.hooks.values()):
        result = hook(values, incoming)
        if result is not None:
            result = result if isinstance(result, tuple) else (result,)
            if len(result) != len(values):
                raise RuntimeError(
                    f"hook '{getattr(hook, '__name__', hook)}' has returned an incorrect number of "
                    f"values: got {len(result)}, but expected {len(values)}"
                )
            values = result
    return [_unwrap(v, lifted) for v in values]


def _leaf_hooks(leaf: Tensor, grad: Any, lifted: bool) -> Any:
    if grad is None or not leaf._hooks:
        return grad
    return _unwrap(call_tensor_hooks(leaf._hooks, as_grad_tensor(grad)), lifted)


def accumulate_leaf(leaf: Tensor, grad: Any, lifted: bool) -> None:
    """Add a complete gradient to a leaf's `.grad`, with its hooks."""
    accumulator = leaf._accumulator and leaf._accumulator()
    if leaf._hooks:
        grad = _leaf_hooks(leaf, grad, lifted)
    if accumulator is not None and accumulator.prehooks:
        for hook in list(accumulator.prehooks.values()):
            result = hook((as_grad_tensor(grad),))
            if result is not None:
                grad = _unwrap(result[0] if isinstance(result, tuple) else result, lifted)
    owned = not lifted and type(grad) is np.ndarray and grad.base is None and getrefcount(grad) <= 3
    _add_to_grad(leaf, grad, lifted, owned=owned)
    if accumulator is not None and accumulator.hooks:
        for hook in list(accumulator.hooks.values()):
            hook((), (as_grad_tensor(grad),))
    if leaf._post_hooks:
        for hook in list(leaf._post_hooks.values()):
            hook(leaf)


def _add_to_grad(
    tensor: Tensor, grad: Any, lifted: bool, *, anew: bool = False, owned: bool = False
) -> None:
    with _accumulate_lock:
        present = tensor._grad
        if present is None:
            if lifted:
                tensor._grad = grad if grad.grad_fn is not None else make(np.copy(grad._data))
            elif owned and grad.flags.c_contiguous and grad.flags.writeable:
                tensor._grad = make(grad)
            else:
                tensor._grad = make(np.copy(grad))
        elif lifted:
            tensor._grad = present + grad
        else:
            # In place, so that whoever holds `.grad` sees the sum, as in PyTorch.
            # (A retained gradient is a new tensor each time.)
            if present._node is None and not present._requires_grad and not anew:
                np.add(present._data, grad, out=present._data)
                box = present._version_box
                box[0] += 1
            else:
                tensor._grad = make(present._data + grad)


def _wrong_count(node: Node, count: int) -> None:
    raise RuntimeError(
        f"function {node.name()} returned an incorrect number of gradients (expected "
        f"{len(node.edges)}, got {count})"
    )


class _Captures:
    """The inputs whose gradients are wanted, and what of the graph leads to them."""

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        self.slots: dict[Any, list[int]] = {}
        self.tensors: dict[Any, list[Tensor]] = {}
        self.gradients: list[Any] = [None] * len(inputs)
        self.edges: set[Any] = set()
        for position, tensor in enumerate(inputs):
            edge = edge_of(tensor)
            if edge is None:
                continue
            key = edge if edge.is_leaf_edge else (edge, tensor._output_nr)
            self.slots.setdefault(key, []).append(position)
            self.tensors.setdefault(key, []).append(tensor)
            self.edges.add(edge)

    def take(self, edge: Any, nr: int, grad: Any) -> None:
        for position in self.slots[edge if edge.is_leaf_edge else (edge, nr)]:
            self.gradients[position] = grad

    def needed(self, starts: list[Any]) -> _Needed:
        """Every node on a path from the roots to an input."""
        reachable = dict.fromkeys(edge for edge in starts if not edge.is_leaf_edge)
        stack = list(reachable)
        while stack:
            for edge in stack.pop().edges:
                if edge is not None and not edge.is_leaf_edge and edge not in reachable:
                    reachable[edge] = None
                    stack.append(edge)
        through: set[Any] = set()  # nodes that must run
        everything = set(self.edges)  # those, and the inputs themselves
        for node in sorted(reachable, key=lambda n: n.sequence):
            if any(edge in everything for edge in node.edges if edge is not None):
                through.add(node)
                everything.add(node)
        return _Needed(through, everything)


class _Needed:
    __slots__ = ("all", "through")

    def __init__(self, through: set[Any], everything: set[Any]) -> None:
        self.through = through
        self.all = everything


def is_freed(node: Node) -> bool:
    return node.saved is FREED
