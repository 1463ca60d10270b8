"""Unique names for results, and the time order that formulas and layout follow."""

from __future__ import annotations

from typing import Any

from ..record.names import assigned_in, small
from .graph import CUT, INPUT, LEAF, OPERATION, Graph, Node

_LETTER = {OPERATION: "v", LEAF: "w", INPUT: "c", CUT: "c"}


def name_results(graph: Graph) -> None:
    """The user's own name, else the variable that the line assigns to, else a letter and a number."""
    nodes = graph.nodes
    taken: dict[str, int] = {}
    for node in nodes:
        if node.kind in (LEAF, INPUT) and node.name:
            node.symbol = node.name
        if node.symbol:
            node.symbol = _once(node.symbol, taken)
    one_end = sum(node.root for node in nodes) == 1
    last: dict[Any, int] = {}  # the last node of each execution of a line: a cut, if it has one
    order = {OPERATION: 0, CUT: 1, INPUT: 2}  # what is computed from a cut comes after it
    for node in sorted(nodes, key=lambda n: (order.get(n.kind, 0), n.time)):
        if node.kind in order and node.site is not None:
            last[_execution(node)] = node.number
    sources = {edge.target: edge.source for edge in graph.edges}
    unnamed = 0
    for node in nodes:
        if node.symbol:
            continue
        name = ""
        if node.site is not None and last.get(_execution(node)) == node.number:
            name = assigned_in(node.site.text)
        if not name and node.operation == "t" and node.number in sources:
            turned = nodes[sources[node.number]].symbol
            name = f"{turned}ᵀ" if turned else ""
        if not name and node.root and one_end:  # nobody named it a loss
            name = "result"
        if name:
            node.symbol = _once(name, taken)
        else:
            unnamed += 1
            node.symbol = f"{_LETTER[node.kind]}{small(unnamed)}"


def _execution(node: Node) -> Any:
    assert node.site is not None
    return node.site.file, node.site.line, node.running


def _once(name: str, taken: dict[str, int]) -> str:
    """`x`, and if that is taken `x₂`, `x₃`, …"""
    taken[name] = taken.get(name, 0) + 1
    return name if taken[name] == 1 else f"{name}{small(taken[name])}"


def in_time(graph: Graph) -> None:
    """Number nodes in time order: inputs, leaves and cuts just before their first use."""
    position: dict[int, float] = {}
    reached = set(graph.steps) or {n.number for n in graph.nodes}
    operations = [n for n in graph.nodes if n.kind == OPERATION and n.number in reached]
    for i, node in enumerate(operations):
        position[node.number] = float(i)
    others = [n for n in graph.nodes if n.kind == OPERATION and n.number not in reached]
    for i, node in enumerate(sorted(others, key=lambda n: n.time)):  # behind a cut
        later = (k for k, other in enumerate(operations) if other.time > node.time)
        position[node.number] = next(later, len(operations)) - 0.9 + 0.3 * i / len(others)
    into, out = graph.edges_into(), graph.edges_out_of()
    for _ in range(4):  # first what is computed from a cut, then the cut, then its inputs
        for node in graph.nodes:
            if node.kind == OPERATION:
                continue
            uses = [position[e.target] for e in out[node.number] if e.target in position]
            comes = [position[e.source] for e in into[node.number] if e.source in position]
            if uses:
                position[node.number] = min(uses) - (0.25 if node.kind == CUT else 0.5)
            elif comes:
                position[node.number] = max(comes) + 0.25
    end = float(len(operations))
    graph.nodes.sort(key=lambda n: position.get(n.number, end))
    new = {node.number: i for i, node in enumerate(graph.nodes)}
    for node in graph.nodes:
        node.number = new[node.number]
    for edge in graph.edges:
        edge.source, edge.target = new[edge.source], new[edge.target]
    graph.steps = [new[number] for number in graph.steps]
