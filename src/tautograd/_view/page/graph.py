"""The picture's data: nodes, the edges between them, the groups they are folded into."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import Any

from ..._user_code.sites import Site
from ..record.values import Value, plain_number

_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=\dD)(?=[A-Z])")  # also in MaxPool2DWithIndices
OPERATION, LEAF, INPUT, CUT = "operation", "leaf", "input", "cut"


@dataclass
class Group:
    """A module call, or a section of a long computation; nodes and groups are inside."""

    number: int
    parent: int  # -1 for the outermost
    label: str
    kind: str = "module"  # or "part", or "call": a function that recorded several nodes
    about: str = ""
    is_one_call: bool = False  # one operation to its caller, however many nodes it recorded


@dataclass(eq=False)
class Node:
    """An operation, a leaf, an input that does not require a gradient, or a place where the graph was cut."""

    number: int
    kind: str
    name: str  # of the recorded node, as `MulBackward0`; of a cut, what cut
    symbol: str = ""  # the name of its result in formulas
    outputs: dict[int, Value] = field(default_factory=dict)  # results, by output number
    arrived: dict[int, Value] = field(default_factory=dict)  # gradients, by output number
    site: Site | None = None
    call: str = ""  # the call that recorded it, as `mul(x, 3)`
    part_of: tuple[int, str] = (
        0,
        "",
    )  # number and name of that call, for its last node and for all others
    arguments: list[Any] = field(default_factory=list)  # of its call: (node, output), or numbers
    operands: list[Any] = field(default_factory=list)  # values of its inputs, by position, or None
    numbers: dict[str, float] = field(default_factory=dict)  # saved by the node: an exponent
    first_use: int = -1  # of a leaf: its position in the order of first use
    group: int = 0
    root: bool = False
    custom: bool = False
    running: int = 0  # the module call the line belongs to, to distinguish executions of a line
    time: int = 0  # the time it was recorded
    leaves: bool = False  # of a cut: the value left for Python
    after_cut: bool = False  # of an input: computed from a cut value
    frozen: bool = False  # of an input: a frozen module parameter
    indirect: bool = False  # of such an input: other operations, or tensors, lie in between
    before: Value | None = None  # a leaf's previous `.grad`

    @property
    def operation(self) -> str:
        """`mul` of `MulBackward0`."""
        return operation_of(self.name) if self.kind == OPERATION else self.name

    @property
    def value(self) -> Value | None:
        return self.outputs.get(0)

    @property
    def gradient(self) -> Value | None:
        return self.arrived.get(0)

    def symbol_of(self, output: int) -> str:
        """The name in formulas of one of several results."""
        many = len(self.outputs) > 1 or len(self.arrived) > 1 or output
        return f"{self.symbol}[{output}]" if many and self.kind == OPERATION else self.symbol


@dataclass(eq=False)
class Edge:
    """Output `output` of `source` is input `place` of `target`; a gradient flows the other way."""

    source: int
    output: int
    target: int
    place: int
    gradient: Value | None = None
    is_cut: bool = False


@dataclass
class Graph:
    """The whole graph."""

    engine: str
    nodes: list[Node] = field(default_factory=list)  # in forward order
    edges: list[Edge] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)  # the first is the whole graph
    steps: list[int] = field(default_factory=list)  # nodes, in backward order
    notes: list[str] = field(default_factory=list)
    flowed: bool = False  # whether gradients are known
    title: str = ""

    def edges_out_of(self) -> dict[int, list[Edge]]:
        """The edges from each node to those that use it."""
        found: dict[int, list[Edge]] = {node.number: [] for node in self.nodes}
        for edge in self.edges:
            found[edge.source].append(edge)
        return found

    def edges_into(self) -> dict[int, list[Edge]]:
        """The edges from each node's inputs, in the order of its arguments."""
        found: dict[int, list[Edge]] = {node.number: [] for node in self.nodes}
        for edge in self.edges:
            found[edge.target].append(edge)
        for edges in found.values():
            edges.sort(key=lambda edge: edge.place)
        return found

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "format": "tautograd view",
            "version": 1,
            "engine": self.engine,
            "title": self.title,
            "notes": self.notes,
            "gradients": self.flowed,
            "steps": self.steps,
            "groups": [
                {"number": g.number, "parent": g.parent, "label": g.label, "kind": g.kind}
                for g in self.groups
            ],
            "nodes": [_plain_node(node) for node in self.nodes],
            "edges": [
                {
                    "source": e.source,
                    "output": e.output,
                    "target": e.target,
                    "place": e.place,
                    "cut": e.is_cut,
                    "gradient": None if e.gradient is None else e.gradient.to_dict(),
                }
                for e in self.edges
            ],
        }


def _plain_node(node: Node) -> dict[str, Any]:
    return {
        "number": node.number,
        "kind": node.kind,
        "name": node.name,
        "operation": node.operation,
        "symbol": node.symbol,
        "group": node.group,
        "root": node.root,
        "call": node.call,
        "site": None if node.site is None else node.site.to_dict(),
        "outputs": {str(k): v.to_dict() for k, v in node.outputs.items()},
        "gradients": {str(k): v.to_dict() for k, v in node.arrived.items()},
    }


@functools.cache
def operation_of(name: str) -> str:
    """`native_layer_norm` of `NativeLayerNormBackward0`, `MyFunction` of `MyFunctionBackward`."""
    plain = name.rpartition("::")[2]
    head, found, tail = plain.rpartition("Backward")
    if not found or (tail and not tail.isdigit()):
        return plain
    if not tail:  # a custom Function keeps the name of its class
        return head
    return _WORDS.sub("_", head).lower()


def norm_of(value: Value | None) -> Any:
    """A norm for the page, or null."""
    return None if value is None else plain_number(value.norm)
