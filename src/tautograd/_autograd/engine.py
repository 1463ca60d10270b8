"""Backward: walk the recorded graph from its roots, latest node first, and apply the chain rule.

An edge leads to a node that was recorded earlier, so a heap ordered by time of recording gives each
node its turn when every gradient that flows into it has arrived. Leaves have no such time: a first
pass counts the edges that lead to each, and the last one in completes its gradient. Nothing
recurses, so depth is bounded by memory alone.

Gradients are raw arrays, and rules run on raw arrays. Only under `create_graph=True` (or inside
forward mode) are they tensors: then the same rules run on `Lifted` tensors and are recorded.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from heapq import heappop, heappush, heappushpop
from sys import _getframe, getrefcount
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor
from .._user_code.owners import internal
from .apply import edge_of
from .arrivals import ALONE, accumulate_leaf, arrive, call_leaf_hooks
from .captures import Captures, Needed
from .chain_rule import fit, run_node, run_rules
from .modes import modes, shared, update_special
from .node import FREED, Node
from .saved import unpack

_FLOAT32 = np.dtype(np.float32)


def run_backward(
    roots: Sequence[Tensor],
    gradients: Sequence[Any],
    *,
    retain_graph: bool,
    create_graph: bool,
    inputs: Sequence[Tensor] | None = None,
    accumulate: bool = True,
) -> list[Any] | None:
    """Differentiate `roots`; add to leaves' `.grad`, or return gradients of `inputs`.

    With `inputs`, only what lies between them and the roots runs. `accumulate=False` captures the
    gradients (raw arrays or tensors, None where unused) and touches no `.grad`.
    """
    lifted = create_graph or modes.forward_level > 0
    pending: dict[Any, Any] = {}
    starts = []
    for root, gradient in zip(roots, gradients, strict=True):
        edge = edge_of(root)
        if edge is not None:
            deliver(pending, edge, root._output_nr, gradient if lifted else gradient._data)
            starts.append(edge)
    captures = None if inputs is None else Captures(inputs)
    walk(starts, pending, retain_graph, create_graph, lifted, captures, accumulate)
    return None if captures is None else captures.gradients


def walk(
    starts: list[Any],
    pending: dict[Any, Any],
    retain_graph: bool,
    create_graph: bool = False,
    lifted: bool = False,
    captures: Captures | None = None,
    accumulate: bool = True,
) -> None:
    """Run every node from the starts down, each with the gradient that is pending for it."""
    needed = None if captures is None else captures.needed(starts, accumulate)
    run = _new(Run)
    run.number = number = next_run_number()
    run.starts = starts
    waiting = _count_leaf_edges(starts, needed, number)
    if captures is not None:
        run.has_inputs = True
    mode = modes.__dict__  # this thread's, looked up once
    quietly = mode["quietly"]
    before = mode["_grad"], mode["way"], mode["run"]
    anomaly = mode.get("anomaly", False)
    hooks_on_saved = modes.saved_hooks
    frame = _getframe(1)
    code = frame.f_code
    while internal[code.co_filename] and frame.f_back is not None:
        frame = frame.f_back
        code = frame.f_code
    used_at = code, frame.f_lasti
    try:  # Ctrl-C may come anywhere, and the modes are put back only if it comes in here
        mode["_grad"] = create_graph
        if before[1][0] is not None:
            mode["way"] = create_graph, quietly
        shared.ordinary = False
        mode["run"] = run
        heap: list[Any] = []
        node: Any = None
        if len(starts) == 1 and not starts[0].is_leaf_edge:
            node = starts[0]
        else:
            for edge in dict.fromkeys(starts):
                if not edge.is_leaf_edge:
                    heappush(heap, (-edge.sequence, edge))
                elif edge not in waiting:
                    _arrive_at_leaf(edge, pending, captures, accumulate, lifted)
            if heap:
                node = heappop(heap)[1]
        while node is not None:
            ready: Any = None  # one node that need not go through the heap
            gradient = pending.pop(node)
            runs = True
            unusual = node.unusual
            if captures is not None or unusual:
                runs = needed is None or node in needed.through
                gradient = arrive(node, gradient, captures, accumulate, lifted, runs)
            if runs:
                edges = node.edges
                if lifted or anomaly or gradient is None or unusual:
                    grads = run_node(node, gradient, lifted)
                    if len(grads) != len(edges):
                        _wrong_count(node, len(grads))
                else:
                    op = node.op
                    rules = op.rules
                    if rules is None or node.dtype is not _FLOAT32:
                        grads = quietly(run_rules, node, gradient)
                    elif op.saves_nothing:  # the same, one call less
                        grads = quietly(rules, node, edges, gradient, ())
                    else:
                        grads = quietly(rules, node, edges, gradient, unpack(node))
                gradient = None
                if not retain_graph and node.saved:
                    node.saved = FREED
                    node.versions = used_at
                    if unusual and node.packed is not None:
                        node.packed = None
                if type(grads) is tuple:
                    grads = list(grads)  # so that an array can leave it
                for i, edge in enumerate(edges):
                    if edge is None or (needed is not None and edge not in needed.all):
                        continue
                    grad = grads[i]
                    leaf = edge.is_leaf_edge
                    if grad is not None:
                        if leaf:
                            like = edge._data
                            shape, dtype = like.shape, like.dtype
                        else:
                            shape, dtype = edge.shape, edge.dtype
                            if shape is None:
                                numbers = node.edge_nrs
                                shape, dtype = edge.outputs[numbers[i] if numbers else 0]
                        if lifted:
                            if grad._data.shape != shape or grad._data.dtype != dtype:
                                grad = fit(node, i, grad, shape, dtype, True)
                        elif grad.shape != shape or (
                            grad.dtype is not dtype and grad.dtype != dtype
                        ):
                            grad = quietly(fit, node, i, grad, shape, dtype, False)
                    if not leaf:
                        if edge in pending:
                            if grad is not None:
                                numbers = node.edge_nrs
                                deliver(pending, edge, numbers[i] if numbers else 0, grad)
                            continue
                        if grad is not None and edge.shape is None:
                            numbers = node.edge_nrs
                            deliver(pending, edge, numbers[i] if numbers else 0, grad)
                        else:
                            pending[edge] = grad
                        if ready is None:
                            ready = edge
                        else:
                            heappush(heap, (-edge.sequence, edge))
                        continue
                    left = waiting[edge] - 1
                    if left or captures is not None or edge in pending:
                        if grad is not None:
                            deliver(pending, edge, 0, grad)
                        if left:
                            waiting[edge] = left
                            continue
                        grad = grads[i] = None
                        if captures is not None:
                            _arrive_at_leaf(edge, pending, captures, accumulate, lifted)
                            continue
                        grad = pending.pop(edge, None)
                    if grad is not None:
                        grads[i] = None
                        alone = getrefcount(grad) <= ALONE
                        accumulate_leaf(edge, grad, lifted, alone)
            if not heap:
                node = ready
            elif ready is None:
                node = heappop(heap)[1]
            else:
                node = heappushpop(heap, (-ready.sequence, ready))[1]
    finally:
        mode["_grad"], mode["way"], mode["run"] = before
        shared.ordinary = shared.threads == 1 and before[1][0] is True
        if modes.saved_hooks is not hooks_on_saved:  # a hook entered a context and did not leave it
            modes.saved_hooks = hooks_on_saved
            update_special()


_new = object.__new__
next_run_number = itertools.count(1).__next__


class Run:
    """One backward pass: where it started, and how."""

    __slots__ = ("__dict__", "number", "starts")

    starts: list[Any]
    number: int
    has_inputs = False


def current_run() -> Any:
    """The backward pass this thread is in, as an object to compare by identity."""
    return modes.run


def tensors_reached(run: Run, tensors: Sequence[Tensor]) -> int:
    """How many of these tensors a backward pass reaches."""
    reached = set(run.starts)
    stack = [edge for edge in reached if not edge.is_leaf_edge]
    while stack:
        for edge in stack.pop().edges:
            if edge is not None and edge not in reached:
                reached.add(edge)
                if not edge.is_leaf_edge:
                    stack.append(edge)
    return sum(edge_of(tensor) in reached for tensor in tensors)


def _arrive_at_leaf(
    leaf: Tensor,
    pending: dict[Any, Any],
    captures: Captures | None,
    accumulate: bool,
    lifted: bool,
) -> None:
    """Every gradient for this leaf has arrived: capture or accumulate their sum."""
    if captures is not None and leaf in captures.slots and not accumulate:
        captures.take(leaf, 0, call_leaf_hooks(leaf, pending.pop(leaf, None), lifted))
    elif leaf in pending:
        grad = pending.pop(leaf)
        alone = getrefcount(grad) <= ALONE
        accumulate_leaf(leaf, grad, lifted, alone)


def deliver(pending: dict[Any, Any], edge: Any, nr: int, grad: Any) -> None:
    """Add a gradient to what has already arrived at an edge."""
    if edge.is_leaf_edge or edge.outputs is None:
        present = pending.get(edge)
        pending[edge] = grad if present is None else _sum(present, grad)
        return
    slots = pending.get(edge)
    if slots is None:
        slots = pending[edge] = [None] * len(edge.outputs)
    slots[nr] = grad if slots[nr] is None else _sum(slots[nr], grad)


def _sum(present: Any, grad: Any) -> Any:
    return present + grad if isinstance(present, Tensor) else modes.quietly(np.add, present, grad)


_marking = (
    threading.Lock()
)  # another thread may walk the same graph, and only one can mark it at a time


def _count_leaf_edges(starts: list[Any], needed: Needed | None, number: int) -> dict[Any, int]:
    """How many edges lead to each leaf; every node is marked with the number of this pass once.

    Nobody waits for the marks: it may be this thread that sets them, before a signal or a finaliser came
    in between, or one that a child process does not have. A set of nodes does the same, in more time.
    """
    if not _marking.acquire(blocking=False):
        return _counted_apart(starts, needed)
    leaves: dict[Any, int] = {}
    stack = []
    try:
        for edge in starts:
            if not edge.is_leaf_edge and edge.mark != number:
                edge.mark = number
                stack.append(edge)
        while stack:
            for edge in stack.pop().edges:
                if edge is None or (needed is not None and edge not in needed.all):
                    continue
                if edge.is_leaf_edge:
                    leaves[edge] = leaves[edge] + 1 if edge in leaves else 1
                elif edge.mark != number:
                    edge.mark = number
                    stack.append(edge)
    finally:
        _marking.release()
    return leaves


def _counted_apart(starts: list[Any], needed: Needed | None) -> dict[Any, int]:
    """The same without relying on marks: a node that has none gets one that is no pass's."""
    leaves: dict[Any, int] = {}
    stack = [edge for edge in dict.fromkeys(starts) if not edge.is_leaf_edge]
    seen = {id(edge) for edge in stack}
    while stack:
        node = stack.pop()
        node.mark = node.mark or -1
        for edge in node.edges:
            if edge is None or (needed is not None and edge not in needed.all):
                continue
            if edge.is_leaf_edge:
                leaves[edge] = leaves.get(edge, 0) + 1
            elif id(edge) not in seen:
                seen.add(id(edge))
                stack.append(edge)
    return leaves


def _wrong_count(node: Node, count: int) -> None:
    raise RuntimeError(
        f"function {node.name()} returned an incorrect number of gradients (expected "
        f"{len(node.edges)}, got {count})"
    )
