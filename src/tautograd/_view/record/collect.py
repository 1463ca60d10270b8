"""Builds the picture's data from a tensor's history: nodes, edges, values, names, lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._user_code.sites import Site
from ..._verify.locate.leaving import edge_of, same_edge
from ..._verify.subject.engines import name_of
from ..page.graph import CUT, INPUT, LEAF, OPERATION, Edge, Graph, Node
from ..page.symbols import in_time, name_results
from .backward_flow import Flow
from .names import Names
from .node_history import Edges, site_of_node, time_of, walk
from .notes import Constant, Cutting, KnownNode, Noted
from .operands import find_operands
from .recorder import Notes
from .saved import kept_by, saved_number, saved_result
from .values import Memory, Value

MOST_BEHIND = 60  # operations shown from behind a cut


class Collector:
    """Combines what is known about a graph."""

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
        self._inputs: Edges = {}
        self.backward_order = walk(roots, self._inputs)
        self.graph = Graph(name_of(engine))
        self._number: dict[int, int] = {}  # of nodes and leaves, by id
        self._constants: dict[int, tuple[Any, int]] = {}
        self._cuts: dict[int, tuple[Any, int]] = {}
        self._leaves: dict[int, Any] = {}
        self._ends: dict[int, int] = {}  # of a leaf's id, the id of the node that accumulates there
        self._before: dict[int, Any] = {}
        self.lines: dict[int, Site] = {}  # for nodes that do not know their own
        self._kept: list[Any] = []  # kept alive, so that ids stay unique
        for node in self.backward_order:
            leaf = getattr(node, "variable", None)
            if leaf is not None:
                self._leaves[id(node)] = leaf
                self._ends[id(leaf)] = id(node)
                grad = leaf.grad
                self._before[id(node)] = None if grad is None else self.memory.look(grad)

    @property
    def leaves(self) -> list[Any]:
        """The tensors at which gradients arrive."""
        return list(self._leaves.values())

    def watch(self) -> Flow:
        """Watch the backward that comes next."""
        return Flow(self.backward_order, self._inputs, self.memory)

    # --- nodes ---------------------------------------------------------------------------------

    def collect(self, flow: Flow | None) -> Graph:
        """The whole graph, after the backward if there was one."""
        graph = self.graph
        for node in reversed(self.backward_order):
            made = self._leaf(node) if id(node) in self._leaves else self._operation(node)
            self._number[id(node)] = made.number
        for root in self.roots:
            self._mark_root(root)
        self._of_call = self._nodes_by_constant()
        for node in self.backward_order:
            self._edges(node, flow)
        self._values_from_variables()
        if self.notes is not None:
            self._what_left()
        if flow is not None:
            self._flowed(flow)
        numbered = [
            (graph.nodes[self._number[id(recorded)]], recorded, self.known(recorded))
            for recorded in self.backward_order
            if id(recorded) not in self._leaves
        ]
        find_operands(graph, numbered, self._inputs, self._number, self.memory)
        self._arguments(numbered)
        name_results(graph)
        in_time(graph)
        return graph

    def _nodes_by_constant(self) -> dict[tuple[int, int], list[Any]]:
        """The nodes of each call that received a constant; several calls may take the same one."""
        found: dict[tuple[int, int], list[Any]] = {}
        for recorded in self.backward_order:
            known = self.known(recorded)
            if known is None:
                continue
            for argument in known.call.arguments:
                if isinstance(argument, Constant):
                    found.setdefault((id(argument), id(known.call)), []).append(recorded)
        return found

    def _add(self, kind: str, name: str) -> Node:
        node = Node(len(self.graph.nodes), kind, name)
        self.graph.nodes.append(node)
        return node

    def _name(self, leaf: Any) -> str:
        return self.names.of(leaf) or (self.notes.leaf_name(leaf) if self.notes else "")

    def _leaf(self, accumulate: Any) -> Node:
        leaf = self._leaves[id(accumulate)]
        node = self._add(LEAF, self._name(leaf))
        node.outputs[0] = self.memory.look(leaf)
        node.before = self._before[id(accumulate)]
        if self.notes is not None:
            node.first_use = self.notes.leaf_uses.place(leaf)
        return node

    def _operation(self, recorded: Any) -> Node:
        node = self._add(OPERATION, str(recorded.name()))
        node.time = time_of(recorded)
        known = self.known(recorded)
        if known is not None:
            node.outputs = dict(known.outputs)
            node.site, node.group = known.call.site, known.call.inside
            node.call = known.call.name if known.is_last else ""
            outer, name = known.call.part_of
            node.part_of = (-outer, name) if outer else (id(known.call), known.call.name)
            node.custom, node.running = known.call.custom, known.call.running
        if node.site is None:
            node.site = site_of_node(recorded) or self.lines.get(id(recorded))
        if node.operation == "pow" and (power := saved_number(recorded, "exponent")) is not None:
            node.numbers["exponent"] = power
        if 0 not in node.outputs:
            value = saved_result(recorded, node.operation, self.memory)
            if value is not None:
                node.outputs[0] = value
        return node

    def known(self, recorded: Any) -> KnownNode | None:
        found = self.notes.nodes.get(id(recorded)) if self.notes else None
        return found if found is not None and found.node is recorded else None

    def _mark_root(self, root: Any) -> None:
        edge = edge_of(root)
        if edge is None:
            return
        number = self._number.get(id(edge[0]))
        if number is None:  # a leaf that is itself the end
            node = self._add(LEAF, self._name(root))
            node.outputs[0] = self.memory.look(root)
            number = self._number[id(edge[0])] = node.number
        node = self.graph.nodes[number]
        node.root = True
        node.outputs.setdefault(edge[1], self.memory.look(root))

    # --- edges ---------------------------------------------------------------------------------

    def _edges(self, recorded: Any, flow: Flow | None) -> None:
        target = self._number[id(recorded)]
        edges = self._inputs[id(recorded)]
        for place, (following, output) in enumerate(edges):
            if following is None:
                continue
            source = self._number[id(following)]
            gradient = flow.given.get((id(recorded), place)) if flow else None
            self.graph.edges.append(Edge(source, output, target, place, gradient))
        known = self.known(recorded)
        if known is not None and (known.is_last or any(f is None for f, _ in edges)):
            self._constants_into(target, known, len(edges))

    def _arguments(self, numbered: Sequence[tuple[Node, Any, KnownNode | None]]) -> None:
        """The arguments of a node's call, in order, if the node is all that the call recorded."""
        counts = Counter(id(known.call) for _, _, known in numbered if known is not None)
        for node, recorded, known in numbered:
            if known is None or counts[id(known.call)] > 1:
                continue
            found: list[Any] = []
            for argument in known.call.arguments:
                if isinstance(argument, Constant):
                    found.append((self.graph.nodes[self._constants[id(argument)][1]], 0))
                elif isinstance(argument, tuple) and not isinstance(argument[0], (str, bool)):
                    if argument[0] is None or not isinstance(argument[1], int):
                        break
                    found.append((self.graph.nodes[self._source(argument)], argument[1]))
                elif isinstance(argument, (int, float)) and not isinstance(argument, bool):
                    found.append(float(argument))
            else:
                sources = {id(source) for source, _ in (a for a in found if isinstance(a, tuple))}
                inner = {
                    id(self.graph.nodes[self._number[id(f)]])
                    for f, _ in self._inputs[id(recorded)]
                    if f is not None
                }
                node.arguments = found if inner <= sources else []

    def _constants_into(self, target: int, known: KnownNode, place: int) -> None:
        """Arguments of a call that do not require a gradient; of several nodes, the last has them."""
        if not known.is_last:
            return
        for argument in known.call.arguments:
            if not isinstance(argument, Constant):
                continue
            source = self._constant(argument, known.call.inside)
            place += 1
            cut = argument.made is None and any(one.is_cut for one in argument.cuts)
            self.graph.edges.append(
                Edge(source, 0, self._taker(argument, known.call, target), place, is_cut=cut)
            )

    def _constant(self, constant: Constant, inside: int) -> int:
        found = self._constants.get(id(constant))
        if found is not None:
            return found[1]
        tensor = constant.reference()
        base = constant.base() if constant.base is not None else None
        value = constant.value
        if base is not None and self.names.is_parameter(base):
            tensor, value = base, self.memory.look(base)
        name = (self.names.of(tensor) if tensor is not None else "") or constant.name
        if constant.cuts and constant.made is None:
            number = self._cut(constant.cuts[0], name)
        else:
            node = self._add(INPUT, name)
            node.outputs[0] = value
            node.group = inside
            node.frozen = tensor is not None and self.names.is_parameter(tensor)
            number = node.number
            if constant.made is not None:  # computed from a cut value: the cut has its own value
                node.call, node.site = constant.made.name, constant.made.site
                node.indirect = constant.made.indirect
                node.after_cut = any(cut.is_cut for cut in constant.cuts)
                for place, cut in enumerate(constant.cuts):
                    source = self._cut(cut)
                    self.graph.edges.append(Edge(source, 0, number, place, is_cut=cut.is_cut))
        self._constants[id(constant)] = constant, number
        return number

    def _cut(self, cut: Cutting, name: str = "") -> int:
        """A box for what ended the history, with the value that was used from there on."""
        found = self._cuts.get(id(cut))
        if found is not None:
            return found[1]
        node = self._add(CUT if cut.is_cut else INPUT, cut.how if cut.is_cut else name)
        node.symbol, node.site, node.group = name, cut.site, cut.inside
        node.running, node.leaves = cut.running, cut.leaves
        if not cut.is_cut:
            node.call = cut.how.removesuffix("()")
        if cut.result is not None:
            node.outputs[0] = cut.result
        self._cuts[id(cut)] = cut, node.number
        for place, edge in enumerate(cut.sources):
            made = Edge(self._source(edge), edge[1], node.number, place, is_cut=cut.is_cut)
            self.graph.edges.append(made)
        return node.number

    def _taker(self, constant: Constant, call: Noted, last: int) -> int:
        """The node of a call that received a constant: the one that saved it, or has an input for it."""
        nodes = self._of_call.get((id(constant), id(call)), [])
        if len(nodes) < 2:
            return last
        tensor = constant.reference()
        for recorded in nodes:
            if tensor is not None and kept_by(recorded, tensor):
                return self._number[id(recorded)]
        open_ = [n for n in nodes if any(following is None for following, _ in n.next_functions)]
        return self._number[id(open_[0])] if len(open_) == 1 else last

    def _source(self, edge: Any) -> int:
        """The node behind a tensor; one that the loss does not depend on brings its history along."""
        found = self._number.get(id(edge[0]))
        if found is not None:
            return found
        if hasattr(edge[0], "next_functions"):
            return self._behind(edge[0])
        return self._other_leaf(edge[0])

    def _other_leaf(self, leaf: Any) -> int:
        if id(leaf) in self._ends:
            return self._number[self._ends[id(leaf)]]
        if id(leaf) not in self._number:
            node = self._add(LEAF, self._name(leaf))
            node.outputs[0] = self.memory.look(leaf)
            self._number[id(leaf)] = node.number
            self._kept.append(leaf)
        return self._number[id(leaf)]

    def _behind(self, recorded: Any) -> int:
        """What lies behind a cut: it gets no gradient, which is what the picture shows."""
        self._number[id(recorded)] = self._operation(recorded).number
        pending, left = [recorded], MOST_BEHIND
        while pending:
            node = pending.pop()
            self._kept.append(node)
            target = self._number[id(node)]
            for place, (following, output) in enumerate(node.next_functions):
                if following is None:
                    continue
                leaf = getattr(following, "variable", None)
                if leaf is not None:
                    source = self._other_leaf(leaf)
                elif id(following) in self._number:
                    source = self._number[id(following)]
                elif left:
                    left -= 1
                    source = self._number[id(following)] = self._operation(following).number
                    pending.append(following)
                else:
                    continue
                self.graph.edges.append(Edge(source, output, target, place))
        return self._number[id(recorded)]

    def _what_left(self) -> None:
        """Values that left for Python and were not seen to return: they may have, unseen.

        One that left from the end itself, for printing, say, came too late for that.
        """
        assert self.notes is not None
        ends = [edge_of(root) for root in self.roots]
        for cut in self.notes.left:
            late = any(same_edge(edge, end) for edge in cut.sources for end in ends)
            if not late and any(self._reaches(edge[0]) for edge in cut.sources):
                self._cut(cut)

    def _reaches(self, recorded: Any) -> bool:
        """Whether a node, or something it was computed from, is in the picture."""
        seen: set[int] = set()
        pending = [recorded]
        while pending and len(seen) <= MOST_BEHIND:
            node = pending.pop()
            leaf = getattr(node, "variable", None)
            known = leaf if leaf is not None else node
            if id(node) in self._number or id(known) in self._ends:
                return True
            seen.add(id(node))
            following = getattr(node, "next_functions", ())
            pending += [n for n, _ in following if n is not None and id(n) not in seen]
        return False

    # --- values, gradients, names --------------------------------------------------------------

    def _values_from_variables(self) -> None:
        """The user's variables that are results of nodes: their names and values."""
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


def _sum(values: Sequence[Value | None], memory: Memory) -> Value:
    known = [value for value in values if value is not None]
    if len(known) == 1 or any(value.array is None for value in known):
        return known[0] if len(known) == 1 else Value(known[0].shape, known[0].dtype)
    total = known[0].array
    for value in known[1:]:
        total = total + value.array
    return memory.of_array(np.array(total), known[0].dtype)
