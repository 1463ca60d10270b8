"""What the rows and columns of a tensor's picture stand for, if the graph shows it.

The softmax that is the left factor of a matrix product weighs the rows of the right factor: it is an
attention map, with a row for each query and a column for each key. So are the scores it was computed
from. The matrix that a layer multiplies by, transposed, has a row for each output and a column for each
input.
"""

from __future__ import annotations

from .graph import LEAF, OPERATION, Edge, Graph, Node

Axes = tuple[str, str]
ATTENTION: Axes = ("query", "key")
WEIGHT: Axes = ("output", "input")
_PRODUCTS = {"mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1}  # the position of the left factor


def axes(graph: Graph) -> dict[int, Axes]:
    """The names of both axes, by node."""
    into, out_of = graph.edges_into(), graph.edges_out_of()
    found: dict[int, Axes] = {}
    for node in graph.nodes:
        if node.operation == "softmax" and node.kind == OPERATION and len(_plane(node)) == 2:
            weights = _weighing(graph, node, out_of)
            if weights:
                found.update(dict.fromkeys([*weights, *_scores(graph, node, into)], ATTENTION))
        elif node.kind == LEAF and len(_shape(node)) == 2 and _is_weight(graph, node, out_of):
            found[node.number] = WEIGHT
    return found


def _shape(node: Node) -> tuple[int, ...]:
    known = node.value or node.gradient  # of the same shape, where the value was not kept
    return known.shape if known is not None else ()


def _plane(node: Node) -> tuple[int, ...]:
    """The last two dimensions, if both have more than one entry: there is no picture otherwise."""
    plane = _shape(node)[-2:]
    return plane if len(plane) == 2 and 1 not in plane else ()


def _weighing(graph: Graph, node: Node, out_of: dict[int, list[Edge]]) -> list[int]:
    """From a softmax to the product whose left factor it is, through dropout and reshapes; or nothing."""
    passed = [node.number]
    for number in passed:
        for edge in out_of[number]:
            user = graph.nodes[edge.target]
            if _PRODUCTS.get(user.operation) == edge.place:
                return passed
            if _plane(user) == _plane(node) and edge.target not in passed:
                passed.append(edge.target)
    return []


def _scores(graph: Graph, node: Node, into: dict[int, list[Edge]]) -> list[int]:
    """Back from a softmax to the product of queries and keys, through scales and masks."""
    passed = [node.number]
    for number in passed:
        if graph.nodes[number].operation not in _PRODUCTS:
            passed += [
                edge.source
                for edge in into[number]
                if graph.nodes[edge.source].kind == OPERATION
                and _plane(graph.nodes[edge.source]) == _plane(node)
                and edge.source not in passed
            ]
    return passed


def _is_weight(graph: Graph, leaf: Node, out_of: dict[int, list[Edge]]) -> bool:
    turned = [e.target for e in out_of[leaf.number] if graph.nodes[e.target].operation == "t"]
    uses = [edge for number in turned for edge in out_of[number]]
    return bool(uses) and all(
        _PRODUCTS.get(graph.nodes[edge.target].operation) == edge.place - 1 for edge in uses
    )
