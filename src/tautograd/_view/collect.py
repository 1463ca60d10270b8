"""From a tensor's history to the picture's data: nodes, edges, values, names, lines."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._verify.engines import name_of
from .._verify.findings import Site
from .flow import Flow
from .graph import CUT, INPUT, LEAF, OPERATION, Edge, Graph, Node
from .names import Names, assigned_in, small
from .recorder import Constant, Cutting, KnownNode, Notes, edge_of
from .saved import saved_inputs, saved_number, saved_result
from .values import Memory, Value


def walk(roots: Sequence[Any]) -> list[Any]:
    """Every node behind these tensors, later ones first; the nodes are kept by the list."""
    found: dict[int, Any] = {}
    users: dict[int, int] = {}
    pending = [edge[0] for root in roots if (edge := edge_of(root)) and edge[0] is not root]
    while pending:
        node = pending.pop()
        if id(node) in found:
            continue
        found[id(node)] = node
        for following, _ in node.next_functions:
            if following is not None:
                users[id(following)] = users.get(id(following), 0) + 1
                pending.append(following)
    ready = [(-_time(node), id(node)) for node in found.values() if not users.get(id(node))]
    heapq.heapify(ready)
    ordered: list[Any] = []
    while ready:
        node = found[heapq.heappop(ready)[1]]
        ordered.append(node)
        for following, _ in node.next_functions:
            if following is not None:
                users[id(following)] -= 1
                if not users[id(following)]:
                    heapq.heappush(ready, (-_time(following), id(following)))
    return ordered


def _time(node: Any) -> int:
    """When a node was recorded; leaves come when they can."""
    number = getattr(node, "_sequence_nr", None)
    if getattr(node, "variable", None) is not None or number is None:
        return 1 << 62
    return int(number())


class Collector:
    """Puts together what is known of a graph."""

    def __init__(
        self,
        engine: Any,
        roots: Sequence[Any],
        *,
        names: Names,
        notes: Notes | None = None,
        memory: Memory | None = None,
    ) -> None:
        self.engine, self.roots, self.names, self.notes = engine, roots, names, notes
        self.memory = memory or (notes.memory if notes else Memory())
        self.backward_order = walk(roots)
        self.graph = Graph(name_of(engine))
        self._number: dict[int, int] = {}  # of nodes and leaves, by id
        self._constants: dict[int, tuple[Any, int]] = {}
        self._cuts: dict[int, tuple[Any, int]] = {}
        self._leaves: dict[int, Any] = {}
        self._before: dict[int, Any] = {}
        for node in self.backward_order:
            leaf = getattr(node, "variable", None)
            if leaf is not None:
                self._leaves[id(node)] = leaf
                grad = leaf.grad
                self._before[id(node)] = None if grad is None else self.memory.look(grad)

    @property
    def leaves(self) -> list[Any]:
        """The tensors at which gradients arrive."""
        return list(self._leaves.values())

    def watch(self) -> Flow:
        """Watch the backward that comes next."""
        return Flow(self.backward_order, self.memory)

    # --- nodes ---------------------------------------------------------------------------------

    def collect(self, flow: Flow | None) -> Graph:
        """All of it, after the backward if there was one."""
        graph = self.graph
        for node in reversed(self.backward_order):
            made = self._leaf(node) if id(node) in self._leaves else self._operation(node)
            self._number[id(node)] = made.number
        for root in self.roots:
            self._mark_root(root)
        for node in self.backward_order:
            self._edges(node, flow)
        self._values_from_variables()
        if self.notes is not None:
            self._what_left()
        if flow is not None:
            self._flowed(flow)
        self._operands()
        self._symbols()
        graph.nodes = _in_time(graph)
        _renumber(graph)
        return graph

    def _add(self, kind: str, name: str) -> Node:
        node = Node(len(self.graph.nodes), kind, name)
        self.graph.nodes.append(node)
        return node

    def _leaf(self, accumulate: Any) -> Node:
        leaf = self._leaves[id(accumulate)]
        node = self._add(LEAF, self.names.of(leaf))
        node.outputs[0] = self.memory.look(leaf)
        node.before = self._before[id(accumulate)]
        return node

    def _operation(self, recorded: Any) -> Node:
        node = self._add(OPERATION, str(recorded.name()))
        known = self._known(recorded)
        if known is not None:
            node.outputs = dict(known.outputs)
            node.site, node.group = known.call.site, known.call.inside
            node.call = known.call.name if known.is_last else ""
            node.custom, node.running = known.call.custom, known.call.running
        if node.site is None:
            node.site = site_of_node(recorded)
        if node.operation == "pow" and (power := saved_number(recorded, "exponent")) is not None:
            node.numbers["exponent"] = power
        if 0 not in node.outputs:
            value = saved_result(recorded, node.operation, self.memory)
            if value is not None:
                node.outputs[0] = value
        return node

    def _known(self, recorded: Any) -> KnownNode | None:
        found = self.notes.nodes.get(id(recorded)) if self.notes else None
        return found if found is not None and found.node is recorded else None

    def _mark_root(self, root: Any) -> None:
        edge = edge_of(root)
        if edge is None:
            return
        number = self._number.get(id(edge[0]))
        if number is None:  # a leaf that is itself the end
            node = self._add(LEAF, self.names.of(root))
            node.outputs[0] = self.memory.look(root)
            number = self._number[id(edge[0])] = node.number
        node = self.graph.nodes[number]
        node.root = True
        node.outputs.setdefault(edge[1], self.memory.look(root))

    # --- edges ---------------------------------------------------------------------------------

    def _edges(self, recorded: Any, flow: Flow | None) -> None:
        target = self._number[id(recorded)]
        edges = recorded.next_functions
        for place, (following, output) in enumerate(edges):
            if following is None:
                continue
            source = self._number[id(following)]
            gradient = flow.given.get((id(recorded), place)) if flow else None
            self.graph.edges.append(Edge(source, output, target, place, gradient))
        known = self._known(recorded)
        if known is not None and (known.is_last or any(f is None for f, _ in edges)):
            self._constants_into(target, known, len(edges))

    def _constants_into(self, target: int, known: KnownNode, place: int) -> None:
        """Arguments of a call that want no gradient; of several nodes, the last has them."""
        if not known.is_last:
            return
        for argument in known.call.arguments:
            if not isinstance(argument, Constant):
                continue
            source = self._constant(argument, known.call.inside)
            place += 1
            self.graph.edges.append(Edge(source, 0, target, place, is_cut=bool(argument.cuts)))

    def _constant(self, constant: Constant, inside: int) -> int:
        found = self._constants.get(id(constant))
        if found is not None:
            return found[1]
        tensor = constant.reference()
        name = constant.name or (self.names.of(tensor) if tensor is not None else "")
        if constant.cuts:
            number = self._cut(constant.cuts[0], constant.value, name)
        else:
            node = self._add(INPUT, name)
            node.outputs[0] = constant.value
            node.group = inside
            number = node.number
        self._constants[id(constant)] = constant, number
        return number

    def _cut(self, cut: Cutting, value: Value | None, name: str = "") -> int:
        found = self._cuts.get(id(cut))
        if found is not None:
            return found[1]
        node = self._add(CUT, cut.how)
        node.symbol, node.site, node.group = name, cut.site, cut.inside
        if value is not None:
            node.outputs[0] = value
        self._cuts[id(cut)] = cut, node.number
        for place, edge in enumerate(cut.sources):
            source = self._source(edge)
            if source is not None:
                made = Edge(source, edge[1], node.number, place, is_cut=True)
                self.graph.edges.append(made)
        return node.number

    def _source(self, edge: Any) -> int | None:
        """The node behind a tensor, or a leaf that nothing of the loss uses otherwise."""
        found = self._number.get(id(edge[0]))
        if found is not None:
            return found
        for accumulate, leaf in self._leaves.items():
            if leaf is edge[0]:
                return self._number[accumulate]
        if hasattr(edge[0], "next_functions"):
            node = self._operation(edge[0])
        else:
            node = self._add(LEAF, self.names.of(edge[0]))
            node.outputs[0] = self.memory.look(edge[0])
        self._number[id(edge[0])] = node.number
        self._leaves.setdefault(id(edge), edge[0])
        return node.number

    def _what_left(self) -> None:
        assert self.notes is not None
        for cut in self.notes.left:
            if any(self._number.get(id(edge[0])) is not None for edge in cut.sources):
                self._cut(cut, None)

    # --- values, gradients, names --------------------------------------------------------------

    def _values_from_variables(self) -> None:
        """Variables of the user's that are results of nodes: their names, and their values."""
        for tensor, name in list(self.names.tensors.values()):
            edge = edge_of(tensor)
            if edge is None or edge[0] is tensor:
                continue
            number = self._number.get(id(edge[0]))
            if number is None:
                continue
            node = self.graph.nodes[number]
            if edge[1] not in node.outputs:
                node.outputs[edge[1]] = self.memory.look(tensor)
            if edge[1] == 0 and len(node.outputs) == 1 and not node.symbol:
                node.symbol = name

    def _flowed(self, flow: Flow) -> None:
        graph = self.graph
        graph.flowed = bool(flow.order) or not self.backward_order
        for (key, output), value in flow.arrived.items():
            graph.nodes[self._number[key]].arrived[output] = value
        incoming: dict[int, list[Edge]] = {}
        for edge in graph.edges:
            if edge.gradient is not None:
                incoming.setdefault(edge.source, []).append(edge)
        last_giver: dict[int, list[int]] = {}
        position = {id(node): i for i, node in enumerate(flow.order)}
        numbers = {self._number[id(node)]: position[id(node)] for node in flow.order}
        for number, edges in incoming.items():
            node = graph.nodes[number]
            if node.kind != LEAF:
                continue
            node.arrived[0] = _sum([e.gradient for e in edges], self.memory)
            final = max(numbers[e.target] for e in edges)
            last_giver.setdefault(final, []).append(number)
        for i, recorded in enumerate(flow.order):
            graph.steps.append(self._number[id(recorded)])
            graph.steps += sorted(last_giver.get(i, []))

    def _operands(self) -> None:
        """What each node's inputs held: results of others, or what the node itself saved."""
        graph = self.graph
        edges_into = graph.edges_into()
        for recorded in self.backward_order:
            if id(recorded) in self._leaves:
                continue
            node = graph.nodes[self._number[id(recorded)]]
            count = len(recorded.next_functions)
            node.operands = [None] * count
            for edge in edges_into[node.number]:
                if edge.place < count:
                    node.operands[edge.place] = graph.nodes[edge.source].outputs.get(edge.output)
            for place, value in saved_inputs(recorded, node.operation, self.memory).items():
                if place < count and node.operands[place] is None:
                    node.operands[place] = value
                    self._learn(recorded.next_functions[place], value)
            self._operands_of_call(node, recorded)
        for node in reversed(graph.nodes):
            if node.operation == "t" and not node.outputs and node.operands:
                value = node.operands[0]
                if value is not None and value.array is not None:
                    node.outputs[0] = self.memory.of_array(value.array.T, value.dtype)
                    for edge in graph.edges:
                        if edge.source == node.number and edge.place < len(
                            graph.nodes[edge.target].operands
                        ):
                            graph.nodes[edge.target].operands[edge.place] = node.outputs[0]

    def _learn(self, edge: Any, value: Value) -> None:
        """A node's result that only its user kept."""
        if edge[0] is not None:
            source = self.graph.nodes[self._number[id(edge[0])]]
            source.outputs.setdefault(edge[1], value)

    def _operands_of_call(self, node: Node, recorded: Any) -> None:
        """Numbers and constants among a call's arguments, where arguments and inputs agree."""
        known = self._known(recorded)
        if known is None or not known.is_last:
            return
        tensors_only = [a for a in known.call.arguments if _is_operand(a)]
        if len(tensors_only) < len(node.operands):
            return
        pairs = list(zip(tensors_only, recorded.next_functions, strict=False))
        if not all(_agrees(argument, edge) for argument, edge in pairs):
            return
        for place, (argument, _) in enumerate(pairs):
            if isinstance(argument, Constant):
                node.operands[place] = argument.value
            elif isinstance(argument, (int, float)):
                node.operands[place] = self.memory.of_array(np.array(float(argument)), "number")

    def _symbols(self) -> None:
        """A name for every result, each once: the user's, or the variable the line assigns to."""
        taken: dict[str, int] = {}
        nodes = self.graph.nodes
        for node in nodes:
            if node.kind in (LEAF, INPUT) and node.name:
                node.symbol = node.name
            if node.symbol:
                taken[node.symbol] = 1
        if self.roots and len(self.roots) == 1:
            end = next((n for n in nodes if n.root), None)
            if end is not None and not end.symbol:
                end.symbol = "loss" if "loss" not in taken else "L"
                taken[end.symbol] = 1
        last_of_line: dict[Any, int] = {}
        for node in nodes:
            if node.kind in (OPERATION, CUT) and node.site is not None:
                last_of_line[node.site.file, node.site.line, node.running] = node.number
        unnamed = 0
        for node in sorted(nodes, key=lambda n: n.number):
            if node.symbol:
                continue
            name = ""
            if node.site is not None:
                line = node.site.file, node.site.line, node.running
                name = assigned_in(node.site.text) if last_of_line.get(line) == node.number else ""
            if node.operation == "t" and node.kind == OPERATION:
                source = next((e.source for e in self.graph.edges if e.target == node.number), -1)
                if source >= 0 and nodes[source].symbol:
                    node.symbol = f"{nodes[source].symbol}ᵀ"
                    continue
            if name:
                taken[name] = taken.get(name, 0) + 1
                node.symbol = name if taken[name] == 1 else f"{name}{small(taken[name])}"
            else:
                unnamed += 1
                letter = "c" if node.kind in (INPUT, CUT) else "w" if node.kind == LEAF else "v"
                node.symbol = f"{letter}{small(unnamed)}"


def _is_operand(argument: Any) -> bool:
    if isinstance(argument, Constant):
        return True
    if isinstance(argument, tuple):
        return len(argument) == 2 and not isinstance(argument[0], str)
    return isinstance(argument, (int, float)) and not isinstance(argument, bool)


def _agrees(argument: Any, edge: Any) -> bool:
    if isinstance(argument, tuple):
        following, number = edge
        leaf = getattr(following, "variable", None)
        return argument[0] is (following if leaf is None else leaf) and argument[1] == number
    return edge[0] is None


def site_of_node(recorded: Any) -> Site | None:
    """The line that recorded a node, for an engine whose nodes know it."""
    place = getattr(recorded, "created_at", None)
    if place is None:
        return None
    return Site(place.filename, place.line, place.function, place.text.strip())


def _sum(values: Sequence[Value | None], memory: Memory) -> Value:
    known = [value for value in values if value is not None]
    if len(known) == 1 or any(value.array is None for value in known):
        return known[0] if len(known) == 1 else Value(known[0].shape, known[0].dtype)
    total = known[0].array
    for value in known[1:]:
        total = total + value.array
    return memory.of_array(np.array(total), known[0].dtype)


def _in_time(graph: Graph) -> list[Node]:
    """Inputs, leaves and cuts just before what uses them first; cuts that lead nowhere after theirs."""
    position: dict[int, float] = {}
    operations = [n for n in graph.nodes if n.kind == OPERATION]
    for i, node in enumerate(operations):
        position[node.number] = float(i)
    into, out = graph.edges_into(), graph.edges_out_of()
    for _ in range(2):  # a cut first, then what enters it
        for node in graph.nodes:
            if node.kind == OPERATION:
                continue
            uses = [position[e.target] for e in out[node.number] if e.target in position]
            comes = [position[e.source] for e in into[node.number] if e.source in position]
            if uses:
                position[node.number] = min(uses) - (0.25 if node.kind == CUT else 0.5)
            elif comes:
                position[node.number] = max(comes) + 0.25
    last = float(len(operations))
    return sorted(graph.nodes, key=lambda n: position.get(n.number, last))


def _renumber(graph: Graph) -> None:
    new = {node.number: i for i, node in enumerate(graph.nodes)}
    for node in graph.nodes:
        node.number = new[node.number]
    for edge in graph.edges:
        edge.source, edge.target = new[edge.source], new[edge.target]
    graph.steps = [new[number] for number in graph.steps]
