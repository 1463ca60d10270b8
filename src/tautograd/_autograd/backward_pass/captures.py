"""Gradients of chosen inputs: which ones are wanted, and what of the graph leads to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._tensor.tensor import Tensor
from ..apply import edge_of


class Captures:
    """The inputs whose gradients are wanted, and what of the graph leads to them."""

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        self.slots: dict[Any, list[int]] = {}
        self.gradients: list[Any] = [None] * len(inputs)
        self.edges: set[Any] = set()
        for position, tensor in enumerate(inputs):
            edge = edge_of(tensor)
            if edge is None:
                continue
            key = edge if edge.is_leaf_edge else (edge, tensor._output_nr)
            self.slots.setdefault(key, []).append(position)
            self.edges.add(edge)

    def take(self, edge: Any, nr: int, grad: Any) -> None:
        for position in self.slots[edge if edge.is_leaf_edge else (edge, nr)]:
            self.gradients[position] = grad

    def needed(self, starts: list[Any], accumulate: bool) -> Needed:
        """Every node on a path from the roots to an input.

        Where gradients are kept (`accumulate`), the nodes of the inputs run too: their hooks are
        part of what `backward(inputs=…)` does, though nothing is handed on from there.
        """
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
        if accumulate:
            through.update(edge for edge in self.edges if edge in reachable)
        return Needed(through, everything)


class Needed:
    """The part of a graph between some roots and some inputs."""

    __slots__ = ("all", "through")

    def __init__(self, through: set[Any], everything: set[Any]) -> None:
        self.through = through
        self.all = everything
