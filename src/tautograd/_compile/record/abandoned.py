"""A graph that was made during a recording which was given up: it becomes one like any other."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

from ..._autograd.apply import edge_of
from ..._tensor.tensor import Tensor
from .recorded_array import Recorded
from .symbols import Symbol, has_symbols, without_symbols
from .tape import reveal
from .trees import NESTS, tensors_in


def release(results: Any, stand_ins: dict[int, tuple[Tensor, Tensor]]) -> None:
    """Let nodes hold plain arrays, and lead on to the arguments in place of what stood in for them."""
    for node in nodes_of(tensors_in(results)):
        saved = node.saved
        if isinstance(saved, (list, tuple)):
            plain = [without_symbols(reveal(value)) for value in saved]
            node.saved = plain if isinstance(saved, list) else tuple(plain)
        if getattr(node, "parameters", None) and has_symbols(node.parameters):
            node.parameters = without_symbols(node.parameters)
        for name, value in vars(node).items():
            if isinstance(value, Recorded) or type(value) is Symbol:
                setattr(node, name, value.value)
        if any(id(edge) in stand_ins for edge in node.edges):
            numbers = list(node.edge_nrs or (0,) * len(node.edges))
            edges = list(node.edges)
            for i, edge in enumerate(edges):
                if id(edge) in stand_ins:
                    original = stand_ins[id(edge)][1]
                    edges[i], numbers[i] = edge_of(original), original._output_nr
            node.edges, node.edge_nrs = tuple(edges), tuple(numbers)
    for stand_in, original in stand_ins.values():
        if stand_in._grad is not None:  # what a backward pass inside left for the history outside
            original.backward(stand_in._grad)


def nodes_of(tensors: Any) -> Iterator[Any]:
    """All nodes of the graph behind tensors."""
    seen: set[int] = set()
    waiting = [tensor._node for tensor in tensors if tensor._node is not None]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        waiting.extend(e for e in node.edges if e is not None and not e.is_leaf_edge)


def held_by(tensors: Any) -> set[int]:
    """The tensors that the graph behind others keeps, as a custom Function's context does."""
    found: set[int] = set()
    for node in nodes_of(tensors):
        held = list(vars(node).values())
        held.extend(node.saved or ())
        for value in tuple(held):
            held.extend(getattr(value, "__dict__", {}).values())
        found.update(id(tensor) for tensor in tensors_in(held))
    return found


def keeps_numbers(scalars: Any, returned: Any) -> bool:
    """Whether somebody keeps a symbol of a recording, other than what was returned and its graph."""
    if not scalars.steps:
        return False
    known = {id(leaf) for leaf in NESTS.leaves(returned)}
    for node in nodes_of(tensors_in(returned)):
        saved = node.saved if isinstance(node.saved, (list, tuple)) else ()
        held = [*saved, getattr(node, "parameters", None), *vars(node).values()]
        for value in tuple(held):  # as a custom Function's context
            held.extend(getattr(value, "__dict__", {}).values())
        known.update(id(leaf) for leaf in NESTS.leaves(held))
    if all(id(symbol) in known for symbol in scalars.alive()):
        return False
    gc.collect()
    return not all(id(symbol) in known for symbol in scalars.alive())
