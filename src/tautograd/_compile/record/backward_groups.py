"""Which results of a function go backward together, and which leaves each of them reaches.

Two results whose graphs have saved values in common are used up by one backward pass; others are not. A leaf
that no gradient can reach gets none, which is not the same as zeros: an optimizer leaves it alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..._tensor.tensor import Tensor
from .abandoned import nodes_of


@dataclass(slots=True)
class Share:
    """Results that go backward together."""

    roots: list[int]  # their numbers
    reached: list[frozenset[int]]  # the numbers of the leaves that each of them reaches

    @property
    def leaves(self) -> list[int]:
        """The numbers of all leaves that are reached."""
        return sorted(frozenset[int]().union(*self.reached))


def reach_of(roots: list[Tensor]) -> list[tuple[set[int], set[int]]]:
    """Of each result: the nodes with saved values in its graph, and the leaves that the graph ends in."""
    found = []
    for root in roots:
        nodes = list(nodes_of([root]))
        saving = {id(node) for node in nodes if node.saved}
        edges = [edge for node in nodes for edge in node.edges if edge is not None]
        found.append((saving, {id(edge) for edge in edges if edge.is_leaf_edge}))
    return found


def shares_of(reach: list[tuple[set[int], set[int]]], leaves: list[int]) -> list[Share]:
    """Results that have something saved in common are one share. `leaves` are told by their ids."""
    groups: list[tuple[list[int], set[int]]] = []
    for number, (saving, _) in enumerate(reach):
        together = [group for group in groups if not group[1].isdisjoint(saving)]
        groups = [group for group in groups if group[1].isdisjoint(saving)]
        roots = [n for group in together for n in group[0]] + [number]
        groups.append((roots, saving.union(*(group[1] for group in together))))
    return [
        Share(
            roots, [frozenset(n for n, of in enumerate(leaves) if of in reach[r][1]) for r in roots]
        )
        for roots, _ in groups
    ]
