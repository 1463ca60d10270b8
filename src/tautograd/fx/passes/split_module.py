"""Cutting a graph into submodules: each node goes to the part that a function names."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ...nn.modules.module import Module
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg

__all__ = ["Partition", "split_module"]


class Partition:
    """A part: its nodes, what it needs of others, and what others need of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names: list[str] = []
        self.nodes: list[Node] = []
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}
        self.dependencies: dict[str, None] = {}
        self.dependents: dict[str, None] = {}

    def __repr__(self) -> str:
        return (
            f"name: {self.name},\n nodes: {self.node_names},\n inputs: {[n.name for n in self.inputs]},\n "
            f"outputs: {[n.name for n in self.outputs]},\n partitions depended on: "
            f"{list(self.dependencies)},\n partition dependents: {list(self.dependents)}"
        )


def split_module(
    m: GraphModule, root_m: Module, split_callback: Callable[[Node], Any],
    qualname_map: dict[str, str] | None = None, keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False, keep_original_input_name: bool = True,
    *, partition_affix: str | None = None,
) -> GraphModule:  # fmt: skip
    """A module that calls a submodule for each part, in the order in which they depend on each other."""
    part_of: dict[Node, str] = {}
    parts: dict[str, Partition] = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        name = str(split_callback(node))
        if partition_affix is not None:
            name = f"{partition_affix}_{name}"
        part = parts.setdefault(name, Partition(name))
        part_of[node] = name
        part.nodes.append(node)
        part.node_names.append(node.name)
    for node in m.graph.nodes:
        for given in node.all_input_nodes:
            _connect(given, node, part_of, parts)
    order = list(parts) if keep_original_order else _sorted(parts)
    outer = Graph()
    values: dict[Node, Node] = {}
    for node in m.graph.nodes:
        if node.op == "placeholder":
            default = node.args[0] if node.args else ...
            values[node] = outer.placeholder(str(node.target), node.type, default)
            values[node].meta = dict(node.meta)
    members: dict[str, Any] = {}
    for node in m.graph.nodes:
        if node.op == "get_attr":
            values[node] = outer.get_attr(str(node.target))
            values[node].meta = dict(node.meta)
            members[str(node.target)] = _found(m, str(node.target))
    for name in order:
        part = parts[name]
        members[part.submod_name] = _inner(
            part, root_m, m, qualname_map, bool(keep_original_node_name)
        )
        called = outer.call_module(part.submod_name, tuple(values[given] for given in part.inputs))
        results = list(part.outputs)
        for number, node in enumerate(results):
            values[node] = called if len(results) == 1 else _item(outer, called, number)
    for node in m.graph.nodes:
        if node.op == "output":
            outer.output(map_arg(node.args[0], lambda n: values[n]), node.type)
    return GraphModule(members, outer)


def _connect(
    given: Node, user: Node, part_of: dict[Node, str], parts: dict[str, Partition]
) -> None:
    """Note that a node uses another's result, where that crosses from one part to another."""
    here, there = part_of.get(user), part_of.get(given)
    if here == there:
        return
    if there is not None:
        parts[there].outputs[given] = None
    if here is not None:
        parts[here].inputs[given] = None
    if here is not None and there is not None:
        parts[here].dependencies[there] = None
        parts[there].dependents[here] = None


def _sorted(parts: dict[str, Partition]) -> list[str]:
    """The parts, each after those it depends on."""
    done: dict[str, None] = {}
    left = list(parts)
    while left:
        ready = [name for name in left if all(d in done for d in parts[name].dependencies)]
        if not ready:
            raise RuntimeError("cycle exists between partitions!")
        done.update(dict.fromkeys(ready))
        left = [name for name in left if name not in done]
    return list(done)


def _inner(
    part: Partition,
    root: Module,
    module: GraphModule,
    names: dict[str, str] | None,
    keep_names: bool,
) -> GraphModule:
    """A part's own graph."""
    graph = Graph()
    values: dict[Node, Node] = {}
    members: dict[str, Any] = {}
    for given in part.inputs:
        values[given] = graph.placeholder(given.name, given.type)
        values[given].meta = dict(given.meta)
    for node in part.nodes:
        target = node.target
        if node.op == "call_module":
            target = str(node.target).replace(".", "_")
            members[target] = _found(module, str(node.target))
            if names is not None:
                names[f"{part.submod_name}.{target}"] = str(node.target)
        args, kwargs = (map_arg(v, lambda n: values[n]) for v in (node.args, node.kwargs))
        made = graph.create_node(
            node.op, target, args, kwargs, node.name if keep_names else None, node.type
        )
        made.meta = dict(node.meta)
        values[node] = made
    results = tuple(values[node] for node in part.outputs)
    graph.output(results[0] if len(results) == 1 else results)
    return GraphModule(members, graph)


def _found(module: Any, path: str) -> Any:
    for step in path.split("."):
        module = getattr(module, step)
    return module


def _item(graph: Graph, of: Node, number: int) -> Node:
    return graph.call_function(operator.getitem, (of, number))
