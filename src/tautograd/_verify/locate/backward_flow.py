"""The gradients that flow through each call in a backward of the whole program: into it and out of it.

Nodes are watched by hooks. A call consists of the nodes between its outputs and its inputs; the
gradients they pass along the edges to its inputs are the call's own contributions. Where a gradient is
differentiated itself, other nodes lead into the inside of a call, and its contributions cannot be told
from theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..subject.engines import as_reals, reals_in
from .leaving import nodes_behind
from .tape import Call

_MOST_NODES = 200  # in one call


class Arrivals:
    """The gradients of one backward, by call."""

    def __init__(self, calls: Iterable[Call], results: Iterable[Any]) -> None:
        self.arrived: dict[int, dict[int, Any]] = {}  # by call id, then output number
        self.given: dict[int, dict[int, Any]] = {}  # by number of the input
        self._handles: list[Any] = []
        self._kept: list[Any] = []  # keeps the nodes alive, so that their ids stay unique
        behind = list(nodes_behind(results))
        self._kept += behind
        self._leading = _leading_to(behind)
        known: set[int] = set()
        for call in calls:
            self._watch(call, known)
            for edge in call.nodes:
                if edge is not None:
                    known.add(id(edge[0]))
                    self._kept.append(edge[0])

    def close(self) -> None:
        for handle in self._handles:
            handle.remove()

    def _watch(self, call: Call, known: set[int]) -> None:
        wanted = [i for i, edge in enumerate(call.edges) if edge is not None]
        places: dict[tuple[int, int], int] = {}
        for i in wanted:
            node, number = call.edges[i]
            key = id(node), number
            if key in places:  # two inputs with the same edge cannot be told apart
                return
            places[key] = i
        inside = [e[0] for e in call.nodes if e is not None and hasattr(e[0], "next_functions")]
        if not inside or not places:
            return
        starts = {id(node) for node in inside}
        if starts & {key[0] for key in places}:  # it returned one of its inputs
            return
        seen: dict[int, Any] = {}
        edges: list[tuple[Any, int, int]] = []  # node, place among its gradients, input
        pending = list(inside)
        while pending:
            node = pending.pop()
            if id(node) in seen:
                continue
            seen[id(node)] = node
            if len(seen) > _MOST_NODES:
                return
            for place, (following, number) in enumerate(node.next_functions):
                if following is None:
                    continue
                self._kept.append(following)
                leaf = getattr(following, "variable", None)
                key = (id(following), number) if leaf is None else (id(leaf), 0)
                if key in places:
                    edges.append((node, place, places[key]))
                elif leaf is None and id(following) not in known:
                    pending.append(following)
        self._kept += seen.values()
        if any(self._leading.get(inner, set()) - seen.keys() for inner in seen.keys() - starts):
            return
        reached = {i for _, _, i in edges}
        given: dict[int, Any] = dict.fromkeys(reached)
        arrived: dict[int, Any] = {}
        self.given[id(call)], self.arrived[id(call)] = given, arrived
        for node in seen.values():
            self._hook(call, node, [(p, i) for n, p, i in edges if n is node], given, arrived)

    def _hook(
        self,
        call: Call,
        node: Any,
        edges: list[tuple[int, int]],
        given: dict[int, Any],
        arrived: dict[int, Any],
    ) -> None:
        outputs = [(k, edge[1]) for k, edge in enumerate(call.nodes) if edge and edge[0] is node]

        def note(grad_inputs: Any, grad_outputs: Any) -> None:
            for k, number in outputs:
                gradient = grad_outputs[number] if number < len(grad_outputs) else None
                if gradient is not None:
                    arrived[k] = gradient.detach().clone()
                else:
                    arrived.setdefault(k, None)
            for place, i in edges:
                gradient = grad_inputs[place] if place < len(grad_inputs) else None
                if gradient is not None:
                    held = gradient.detach().clone()
                    given[i] = held if given[i] is None else given[i] + held

        if outputs or edges:
            self._handles.append(node.register_hook(note))

    # --- as rows of numbers --------------------------------------------------------------------

    def arriving(self, call: Call, live: list[int]) -> Any:
        """What arrived at a call's recorded outputs, as one row; None if nothing did."""
        found = self.arrived.get(id(call))
        if not found:
            return None
        outputs = [t for t in call.outputs if t.is_floating_point() or t.is_complex()]
        position = {id(t): k for k, t in enumerate(call.outputs)}
        if any(i >= len(outputs) for i in live):
            return None
        parts = []
        for i in live:
            gradient = found.get(position[id(outputs[i])])
            size = reals_in(outputs[i])
            row = np.zeros(size) if gradient is None else as_reals(gradient)
            if row.size != size:
                return None
            parts.append(row)
        return np.concatenate(parts) if parts else None

    def contributions(self, call: Call, variables: list[int], unknown: float = np.nan) -> Any:
        """What the call contributed to each of its inputs, as a row; `unknown` where that cannot be told."""
        found = self.given.get(id(call))
        if found is None:
            return None
        parts = []
        for i in variables:
            tensor = call.copies[i]
            size = reals_in(tensor)
            if i not in found:
                parts.append(np.full(size, unknown))
                continue
            gradient = found[i]
            if gradient is not None and tuple(gradient.shape) != tuple(tensor.shape):
                parts.append(np.full(size, unknown))
            else:
                # An engine skips gradients that nobody asked for; a custom rule that gives none means zero.
                nothing = np.full(size, 0.0 if call.custom else unknown)
                parts.append(nothing if gradient is None else as_reals(gradient))
        return np.concatenate(parts) if parts else None


def _leading_to(nodes: list[Any]) -> dict[int, set[int]]:
    """For each of these nodes, by id, those that pass gradients to it."""
    leading: dict[int, set[int]] = {}
    for node in nodes:
        for following, _ in node.next_functions:
            if following is not None:
                leading.setdefault(id(following), set()).add(id(node))
    return leading
