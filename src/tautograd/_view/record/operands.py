"""The values of each node's inputs: results of other nodes, tensors the node saved, arguments of its call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..page.graph import Edge, Graph, Node
from .node_history import Edges
from .notes import Constant, KnownNode
from .saved import saved_inputs
from .values import Memory, Value

Recorded = tuple[Node, Any, KnownNode | None]  # our node, the engine's, and what is known of it


def find_operands(
    graph: Graph,
    recorded: Sequence[Recorded],
    inputs: Edges,
    numbers: dict[int, int],
    memory: Memory,
) -> None:
    """Give each operation the values of its inputs, where known."""
    into, out = graph.edges_into(), graph.edges_out_of()
    for node, own, known in recorded:
        edges = inputs[id(own)]
        node.operands = [None] * len(edges)
        for edge in into[node.number]:
            if edge.place < len(edges):
                node.operands[edge.place] = graph.nodes[edge.source].outputs.get(edge.output)
        for place, value in saved_inputs(own, node.operation, memory, node.operands).items():
            if place == len(node.operands):  # a plain number has no edge on one engine
                node.operands.append(value)
            elif place < len(edges) and node.operands[place] is None:
                node.operands[place] = value
                source, output = edges[place]
                if source is not None:  # its result, which only its user kept
                    graph.nodes[numbers[id(source)]].outputs.setdefault(output, value)
        if known is not None and known.is_last:
            _from_call(node, edges, known.call.arguments, memory)
    for node, _, _ in reversed(recorded):
        if node.operation == "t" and not node.outputs:
            _turned(graph, node, out[node.number], memory)


def _from_call(node: Node, edges: Any, given: list[Any], memory: Memory) -> None:
    """Numbers and constants among a call's arguments, if arguments and inputs correspond."""
    arguments = [a for a in given if _is_operand(a)]
    if len(arguments) < len(edges):
        return
    if not all(_agrees(a, edge) for a, edge in zip(arguments, edges, strict=False)):
        return
    for place, argument in enumerate(arguments):
        value: Value | None = None
        if isinstance(argument, Constant):
            value = argument.value
        elif _is_number(argument):
            value = memory.of_array(np.array(float(argument)), "number")
        if value is None:
            continue
        if place < len(node.operands):
            node.operands[place] = value
        elif place == len(node.operands) and len(arguments) == 2:
            node.operands.append(value)


def _is_operand(argument: Any) -> bool:
    if isinstance(argument, Constant):
        return True
    if isinstance(argument, tuple):
        return len(argument) == 2 and not isinstance(argument[0], str)
    return _is_number(argument)


def _is_number(argument: Any) -> bool:
    return isinstance(argument, (int, float, np.floating, np.integer)) and not isinstance(
        argument, bool
    )


def _agrees(argument: Any, edge: Any) -> bool:
    if isinstance(argument, tuple):
        following, number = edge
        leaf = getattr(following, "variable", None)
        return argument[0] is (following if leaf is None else leaf) and bool(argument[1] == number)
    return edge[0] is None


def _turned(graph: Graph, node: Node, users: list[Edge], memory: Memory) -> None:
    """A transposed matrix that nothing kept: it follows from the original."""
    value = node.operands[0] if node.operands else None
    if value is None or value.array is None:
        return
    node.outputs[0] = memory.of_array(value.array.T, value.dtype)
    for edge in users:
        operands = graph.nodes[edge.target].operands
        if edge.place < len(operands):
            operands[edge.place] = node.outputs[0]
