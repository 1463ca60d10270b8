"""Walking a recorded graph: nodes, the leaves they lead to, and when they were recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

LIMIT = 20_000  # nodes that a walk looks at


def nodes(roots: Iterable[Any], limit: int = LIMIT) -> Iterator[Any]:
    """Every node that leads to these tensors, each once."""
    return nodes_before((root.grad_fn for root in roots if root.grad_fn is not None), limit)


def nodes_before(starts: Iterable[Any], limit: int = LIMIT) -> Iterator[Any]:
    """These nodes and every one that leads to them, each once."""
    waiting = list(starts)
    seen = set(waiting)
    count = 0
    while waiting and count < limit:
        node = waiting.pop()
        count += 1
        yield node
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)


def is_leaf_node(node: Any) -> bool:
    """Whether a node is where a leaf's gradient arrives."""
    return type(node).__name__ == "AccumulateGrad"


def leaves(roots: Iterable[Any], limit: int = LIMIT) -> list[Any]:
    """The leaves that get a gradient from these tensors."""
    roots = list(roots)
    found = [n.variable for n in nodes(roots, limit) if is_leaf_node(n)]
    return found + [root for root in roots if root.is_leaf and root.requires_grad]


def leaves_of(node: Any, limit: int = LIMIT) -> list[Any]:
    """The leaves that get a gradient through this node."""
    return [n.variable for n in nodes_before([node], limit) if is_leaf_node(n)]


def node_name(node: Any) -> str:
    """'MulBackward0', without the number: 'Mul'. A custom Function's node has no number, and keeps
    its name: one that is called Sign need not have sign's derivative."""
    name = str(node.name()).rpartition("::")[2]
    bare = name.rstrip("0123456789")
    return bare if bare == name else bare.removesuffix("Backward")


def present_moment(engine: Any) -> int:
    """A sequence number between those of all nodes so far and those to come."""
    with engine.enable_grad():
        mark = engine.zeros(1, requires_grad=True) * 1.0
    return int(mark.grad_fn._sequence_nr())
