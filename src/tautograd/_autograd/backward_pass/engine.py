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
from sys import getrefcount
from typing import Any

import numpy as np

from ..._tensor.tensor import OWN_DTYPE, Tensor
from ..._user_code.sites import mark
from ..apply import edge_of
from ..lifted import run_lifted
from ..modes import change, modes, set_grad, shared
from ..node import FREED, Node
from ..saved import unpack
from .arrivals import ALONE, accumulate_leaf, arrive, call_leaf_hooks, sum_of
from .captures import Captures, Needed
from .chain_rule import fit, run_node, run_rules

_FLOAT32 = np.dtype(np.float32)
_ndarray, _add = np.ndarray, np.add


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
    if captures is not None:
        run.has_inputs = True
    waiting = _count_leaf_edges(starts, needed, number)
    freed_at = None if retain_graph else mark(1)
    try:
        heap: list[Any] = []
        first: Any = starts[0] if len(starts) == 1 else None
        if first is None or first.is_leaf_edge:
            run.enter(create_graph)
            for edge in dict.fromkeys(starts):
                if not edge.is_leaf_edge:
                    heappush(heap, (-edge.sequence, edge))
                elif edge not in waiting:
                    _arrive_at_leaf(edge, pending, captures, accumulate, lifted)
            first = heappop(heap)[1] if heap else None
        if captures is not None or lifted or (not shared.ordinary and modes.anomaly):
            run.enter(create_graph)
            way = captures, needed, accumulate
            _walk_lifted(first, heap, pending, waiting, freed_at, lifted, way)
        else:
            _walk_arrays(first, heap, pending, waiting, freed_at, run)
        if (
            run.modes is not None
        ):  # only in a hook or custom function can a callback have been queued
            for callback in run.callbacks:
                callback()
    finally:
        if run.modes is not None:
            run.leave()


def _walk_arrays(
    node: Any,
    heap: list[Any],
    pending: dict[Any, Any],
    waiting: dict[Any, int],
    freed_at: Any,
    run: Run,
) -> None:
    """`loss.backward()`: raw arrays, which end in the `.grad` of leaves. All is written out here, for a call
    costs as much as ten of these lines."""
    quietly = modes.quietly
    count = waiting.get  # of the edges that lead to a leaf; of a node None
    while node is not None:
        ready: Any = None  # one node that need not go through the heap
        gradient = pending.pop(node)
        edges = node.edges
        if gradient is None or node.unusual:
            run.enter(False)
            grads = _run_unusual(node, gradient, None, True, False)
            saved = node.saved
            if freed_at is not None and saved and node.packed is not None:
                node.packed = None
        else:
            op = node.op
            if op.saves_nothing:
                saved = ()
            else:  # what `unpack` does, one call less
                saved = node.saved
                if saved is FREED:
                    unpack(node)
                for box, version, _ in node.versions:
                    if box[0] != version:
                        unpack(node)
            if node.dtype is not _FLOAT32 or op.rules is None:
                grads = quietly(run_rules, node, gradient)
            else:  # the same, one call less
                grads = quietly(op.rules, node, edges, gradient, saved)
        gradient = None
        if saved and freed_at is not None:
            saved = None
            node.saved = FREED
            node.versions = freed_at
        if type(grads) is tuple:
            grads = list(grads)  # so that an array can leave it
        for i, edge in enumerate(edges):
            if edge is None:
                continue
            grad = grads[i]
            left = count(edge)
            if left is not None:
                like = edge._data
                if grad is not None and (
                    grad.shape != like.shape
                    or (grad.dtype is not like.dtype and grad.dtype != like.dtype)
                ):
                    dtype = like.dtype if edge._grad_dtype is OWN_DTYPE else grad.dtype
                    grad = quietly(fit, node, i, grad, like.shape, dtype, False)
                left -= 1
                if left or edge in pending:
                    if grad is not None:
                        deliver(pending, edge, 0, grad)
                    if left:
                        waiting[edge] = left
                        continue
                    grad = grads[i] = None
                    grad = pending.pop(edge, None)
                if grad is not None:
                    grads[i] = None
                    if edge._watched:
                        run.enter(False)
                    alone = getrefcount(grad) <= ALONE
                    accumulate_leaf(edge, grad, False, alone)
                continue
            shape = edge.shape
            if grad is not None and shape is not None:
                dtype = edge.dtype
                if grad.shape != shape or (grad.dtype is not dtype and grad.dtype != dtype):
                    grad = quietly(fit, node, i, grad, shape, dtype, False)
                if edge in pending:
                    present = pending[edge]
                    if present is None:
                        pending[edge] = grad
                    elif type(present) is type(grad) is _ndarray:
                        pending[edge] = quietly(_add, present, grad)
                    else:
                        pending[edge] = sum_of(present, grad)
                    present = None
                    continue
                pending[edge] = grad
            else:
                is_new = edge not in pending
                _deliver_fitted(node, i, grad, pending, False)
                if not is_new:
                    continue
            if ready is None:
                ready = edge
            else:
                heappush(heap, (-edge.sequence, edge))
        if not heap:
            node = ready
        elif ready is None:
            node = heappop(heap)[1]
        else:
            node = heappushpop(heap, (-ready.sequence, ready))[1]


def _walk_lifted(
    node: Any,
    heap: list[Any],
    pending: dict[Any, Any],
    waiting: dict[Any, int],
    freed_at: Any,
    lifted: bool,
    way: tuple[Captures | None, Needed | None, bool],
) -> None:
    """The same for gradients that are tensors, or are captured, or looked at by anomaly detection."""
    captures, needed, accumulate = way
    captured = () if captures is None else captures.edges
    site = mark()
    if node is not None:
        heappush(heap, (-node.sequence, node))
    while heap:
        node = heappop(heap)[1]
        gradient = pending.pop(node)
        if needed is not None and node not in needed.through:
            arrive(node, gradient, captures, accumulate, lifted, False)
            continue
        if node.unusual or gradient is None or node in captured or not (lifted and shared.ordinary):
            grads = _run_unusual(node, gradient, captures, accumulate, lifted)
        else:  # the same, four calls less
            modes.site = site
            try:
                grads = run_lifted(node, gradient, True)
            finally:
                modes.site = None  # others, such as a hook's, know their own
        gradient = None
        if freed_at is not None and node.saved:
            node.saved = FREED
            node.versions = freed_at
            if node.packed is not None:
                node.packed = None
        grads = list(grads)  # so that an array can leave it
        for i, edge in enumerate(node.edges):
            if edge is None or (needed is not None and edge not in needed.all):
                continue
            if not edge.is_leaf_edge:
                is_new = edge not in pending
                if is_new:
                    heappush(heap, (-edge.sequence, edge))
                grad = grads[i]
                if is_new and lifted and grad is not None and edge.outputs is None:
                    data = grad._data
                    if data.shape == edge.shape and data.dtype is edge.dtype:
                        pending[edge] = grad
                        continue
            _deliver_fitted(node, i, grads[i], pending, lifted)
            grad = grads[i] = None
            if edge.is_leaf_edge:
                waiting[edge] -= 1
                if not waiting[edge]:
                    _arrive_at_leaf(edge, pending, captures, accumulate, lifted)


def _run_unusual(
    node: Any, gradient: Any, captures: Captures | None, accumulate: bool, lifted: bool
) -> Any:
    """The gradients of a node's inputs, with hooks and captures on the way."""
    if node.unusual or (captures is not None and node in captures.edges):
        gradient = arrive(node, gradient, captures, accumulate, lifted, True)
    grads = run_node(node, gradient, lifted)
    if len(grads) != len(node.edges):
        _wrong_count(node, len(grads))
    return grads


def _deliver_fitted(node: Any, i: int, grad: Any, pending: dict[Any, Any], lifted: bool) -> None:
    """Hand the gradient of an input to what made it, in its shape and dtype; a node that gets None will run."""
    edge = node.edges[i]
    if grad is None:
        if not edge.is_leaf_edge:
            pending.setdefault(edge, None)
        return
    nr = node.edge_nrs[i] if node.edge_nrs and not edge.is_leaf_edge else 0
    if edge.is_leaf_edge:
        shape, dtype = edge._data.shape, edge._data.dtype
    else:
        shape, dtype = edge._input_metadata_of(nr)
    data = grad._data if lifted else grad
    if edge.is_leaf_edge and edge._grad_dtype is not OWN_DTYPE:
        dtype = data.dtype
    if data.shape != shape or data.dtype != dtype:
        if lifted:
            grad = fit(node, i, grad, shape, dtype, True)
        else:
            grad = modes.quietly(fit, node, i, grad, shape, dtype, False)
    deliver(pending, edge, nr, grad)


_new = object.__new__
next_run_number = itertools.count(1).__next__


class Run:
    """One backward pass: where it started, and how."""

    __slots__ = ("__dict__", "number", "starts")

    starts: list[Any]
    number: int
    has_inputs = False
    modes: Any = None  # those in which the pass began, once it has modes of its own
    outer: Any = None  # the pass that this one is inside of
    callbacks: Sequence[Any] = ()  # to be called when the last gradient has arrived

    def enter(self, create_graph: bool) -> None:
        """Before the first code of the user's (a hook, a custom function) runs, or a rule on tensors:
        what they do is recorded under `create_graph` alone."""
        if self.modes is not None:
            return
        self.outer = modes.run
        self.modes = modes.now  # from here on Ctrl-C, at any place, finds what to put back
        modes.run = self
        set_grad(create_graph)

    def leave(self) -> None:
        """Put recording back as it was, and the hooks on saved tensors, if a hook entered a context and
        did not leave it; other modes stay as a hook has left them."""
        modes.run = self.outer
        before = self.modes
        if modes.saved_hooks is not before.saved_hooks:
            change(saved_hooks=before.saved_hooks)
        set_grad(before.grad)


def current_run() -> Any:
    """The backward pass this thread is in, as an object to compare by identity."""
    return modes.run


def queue_callback(callback: Any, outermost: bool = False) -> None:
    """Have `callback()` called when the backward pass that this is called in, or the outermost one that it is inside
    of, has delivered every gradient."""
    run = modes.run
    if run is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    while outermost and run.outer is not None:
        run = run.outer
    if not run.callbacks:
        run.callbacks = []
    run.callbacks.append(callback)


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
    return present + grad if isinstance(present, Tensor) else sum_of(present, grad)


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
