"""What a page needs to recompute a small graph: values, and what each operation does.

How an operation was called (over which dimension, in which order) is not queried from the engine. All
possible ways are tried on the recorded inputs, and the one that gives the recorded result is used; if
there is none, or more than one, the operation is not offered, nor is any leaf that it depends on.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .graph import CUT, OPERATION, Graph, Node
from .touch_ops import BINARY, MOVES, TERNARY, UNARY, arity, ways_to_reduce

MOST_ENTRIES = 2048  # of leaves and inputs together
MOST_NODES = 200
_CLOSE = {"float32": 2e-5, "float64": 1e-11}
Spec = dict[str, Any]


def touchable(graph: Graph) -> dict[str, Any] | None:
    """Values and operations by node number, and the nodes that a reader may change; or None."""
    roots = [node for node in graph.nodes if node.root]
    if len(graph.nodes) > MOST_NODES or len(roots) != 1 or not graph.flowed:
        return None
    made = _Plan(graph)
    offered = made.offered()
    if not offered:
        return None
    needed = made.values()
    if sum(value.array.size for value in needed.values()) > MOST_ENTRIES:
        return None
    start = roots[0].arrived.get(0)
    if start is None or start.array is None or not _is_finite([start, *needed.values()]):
        return None
    return {
        "leaves": offered,
        "values": {str(k): _plain(v) for k, v in needed.items()},
        "ops": {str(k): spec for k, spec in made.specs.items()},
        "start": _plain(start)[1],
    }


def _is_finite(values: list[Any]) -> bool:
    return not any(value.strange for value in values)


class _Plan:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.into = graph.edges_into()
        self.specs: dict[int, Spec] = {}
        for node in graph.nodes:
            spec = self._spec(node)
            if spec is not None:
                self.specs[node.number] = spec

    def _spec(self, node: Node) -> Spec | None:
        value = node.value
        if value is None or value.array is None or len(node.outputs) != 1:
            return None
        if node.kind == CUT:
            edges = self.into[node.number]
            same = node.name in ("detach()", "detach_()", ".data") and len(edges) == 1
            return {"o": "clone", "i": [edges[0].source], "k": 1} if same else None
        if node.kind != OPERATION or value.dtype not in _CLOSE:
            return None
        inputs = self._inputs(node)
        if inputs is None:
            return None
        arrays = [i if isinstance(i, float) else _array(self.graph.nodes[i]) for i in inputs]
        if any(array is None for array in arrays):
            return None
        found = _how(node.operation, arrays, value.array, value.dtype)
        if found is None:
            return None
        spec = {"o": node.operation, "i": inputs, **found}
        if plain := [k for k, i in enumerate(inputs) if isinstance(i, float)]:
            spec["c"] = plain  # numbers, not nodes
        return {**spec, "f": 1} if value.dtype == "float32" else spec

    def _inputs(self, node: Node) -> list[Any] | None:
        """The node behind each operand, or a plain number; None if one of them is unknown."""
        edges = {e.place: e for e in self.into[node.number]}
        if any(e.output for e in edges.values()):
            return None
        count = max(len(node.operands), 2 if "exponent" in node.numbers else 0)
        constants = [e.source for place, e in sorted(edges.items()) if place >= count]
        most = arity(node.operation) or count + len(constants)  # then dimensions and so on
        found: list[Any] = []
        for place in range(min(count, most)):
            value = node.operands[place] if place < len(node.operands) else None
            if place in edges:
                found.append(edges[place].source)
            elif value is not None and value.dtype == "number":
                found.append(float(value.array))
            elif place == 1 and "exponent" in node.numbers:
                found.append(node.numbers["exponent"])
            elif value is None and constants:
                found.append(constants.pop(0))
            elif (source := self._holding(value, constants)) is not None:
                constants.remove(source)
                found.append(source)
            else:
                return None
        return [*found, *constants][:most]

    def _holding(self, value: Any, constants: list[int]) -> int | None:
        for source in constants:
            held = self.graph.nodes[source].value
            if value is None or held is None or value.array is None or held.array is None:
                continue
            if held is value or (
                held.shape == value.shape and np.array_equal(held.array, value.array)
            ):
                return source
        return None

    def offered(self) -> list[int]:
        """Leaves, and floating-point inputs, whose consequences can all be computed."""
        out = self.graph.edges_out_of()
        found = []
        for node in self.graph.nodes:
            value = node.value
            if node.number in self.specs or self.into[node.number] or value is None:
                continue
            if node.kind == OPERATION or value.array is None or value.dtype not in _CLOSE:
                continue
            seen, pending, fine = {node.number}, [node.number], bool(out[node.number])
            while pending and fine:
                for edge in out[pending.pop()]:
                    fine = fine and edge.target in self.specs
                    if edge.target not in seen:
                        seen.add(edge.target)
                        pending.append(edge.target)
            if fine:
                found.append(node.number)
        return found

    def values(self) -> dict[int, Any]:
        """What the operations start from."""
        used = {i for spec in self.specs.values() for i in spec["i"] if not isinstance(i, float)}
        return {i: self.graph.nodes[i].value for i in sorted(used - set(self.specs))}


def _array(node: Node) -> Any:
    return None if node.value is None else node.value.array


def _plain(value: Any) -> list[Any]:
    """Shape, numbers, and whether they are single precision, as short as they can be written."""
    single = value.dtype == "float32"
    flat = value.array.reshape(-1)
    listed = [float(str(x)) for x in flat.astype(np.float32)] if single else flat.tolist()
    return [list(value.shape), listed, int(single)]


# ---- how it was called ---------------------------------------------------------------------------


def _how(name: str, inputs: list[Any], result: Any, dtype: str) -> Spec | None:
    """The unique way in which an operation gives this result."""
    fits: list[Spec] = []
    with np.errstate(all="ignore"):
        for spec, compute in _ways(name, inputs, result):
            try:
                found = np.asarray(compute(*[np.asarray(x, np.float64) for x in inputs]))
            except (ValueError, TypeError, IndexError):  # np.linalg's errors are ValueErrors
                continue
            if found.shape == result.shape and _same(found, result, dtype):
                fits.append(spec)
    return fits[0] if len(fits) == 1 else None


def _same(found: Any, want: Any, dtype: str) -> bool:
    size = np.max(np.abs(want), initial=0.0)
    if not np.isfinite(size):
        return False
    return bool(np.max(np.abs(found - want), initial=0.0) <= _CLOSE[dtype] * max(size, 1e-30))


def _ways(name: str, inputs: list[Any], result: Any) -> Iterator[tuple[Spec, Callable[..., Any]]]:
    if len(inputs) == 1 and name in UNARY:
        yield {}, UNARY[name]
    elif len(inputs) == 2 and name in BINARY:
        yield {}, BINARY[name]
    elif len(inputs) == 3 and name in TERNARY:
        yield {}, TERNARY[name]
    elif len(inputs) == 1 and name in MOVES:
        yield {"h": list(result.shape)}, lambda x: x.reshape(result.shape)
    elif len(inputs) == 1 and name in ("t", "transpose", "permute", "numpy_t"):
        for order in itertools.permutations(range(np.ndim(inputs[0]))):
            yield {"p": list(order)}, lambda x, order=order: x.transpose(order)
    elif len(inputs) == 1 and name == "expand":
        yield {"h": list(result.shape)}, lambda x: np.broadcast_to(x, result.shape)
    else:
        yield from ways_to_reduce(name, inputs, result)
