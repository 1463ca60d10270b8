"""`torch.fx.subgraph_rewriter`: finding subgraphs that match a pattern, and replacing them.

A pattern is a function, traced into its own graph. Nodes match by target and arguments, walking
back from the pattern's results: an input of the pattern matches anything, but the same thing wherever it is used. Nodes
in between must have no other users, since they are removed. A match that overlaps an earlier one is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..nn.modules.module import Module
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_aggregate
from .tracing import symbolic_trace

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A match: the pattern's own last node, and a map from the pattern's nodes to the graph's."""

    anchor: Node
    nodes_map: dict[Node, Any]


@dataclass
class ReplacedPatterns:
    """A match as it was (`anchor`, `nodes_map`), and the nodes that replaced it."""

    anchor: Node
    nodes_map: dict[Node, Any]
    replacements: list[Node]


def replace_pattern(
    gm: GraphModule,
    pattern: Callable[..., Any] | GraphModule,
    replacement: Callable[..., Any] | GraphModule,
) -> list[Match]:
    """Replace every match of `pattern` in a module's graph by `replacement`; returns the matches as they were."""
    replaced = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(anchor=place.anchor, nodes_map=place.nodes_map) for place in replaced]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Callable[..., Any] | Graph | GraphModule,
    replacement: Callable[..., Any] | Graph | GraphModule | None = None,
    match_filters: Sequence[Callable[[Any, Graph, Graph], bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[Any, Graph, Graph], Graph] | None = None,
) -> list[ReplacedPatterns]:
    """`replace_pattern` where all filters return true; a callback may supply a replacement for each match."""
    if (replacement is None) == (replacement_callback is None):
        raise AssertionError("give either `replacement` or `replacement_callback`, not both")
    wanted = _graph_of(pattern)
    fixed = None if replacement is None else _graph_of(replacement)
    graph, replaced = gm.graph, []
    now: dict[Node, Node] = {}  # replaces a result that an earlier replacement removed
    for match in _places(graph, wanted, gm, pattern, ignore_literals):
        if not all(agrees(match, graph, wanted) for agrees in match_filters or ()):
            continue
        new = fixed
        if replacement_callback is not None:
            new = _graph_of(replacement_callback(match, graph, wanted))
        assert new is not None
        replaced.append(_replace(graph, wanted, new, match, now))
    if isinstance(replacement, Module):
        _bring_along(gm, replacement)
    gm.recompile()
    return replaced


def _graph_of(given: Any) -> Graph:
    if isinstance(given, Graph):
        return given
    return given.graph if isinstance(given, GraphModule) else symbolic_trace(given).graph


# ---- finding ---------------------------------------------------------------------------------------


def _results(graph: Graph) -> list[Node]:
    """The nodes that a graph returns."""
    return graph._nodes[-1].all_input_nodes


def _places(
    graph: Graph, pattern: Graph, module: Any, pattern_module: Any, ignore_literals: bool
) -> Iterator[Match]:
    """The non-overlapping matches of the pattern; found before anything is changed."""
    results = _results(pattern)
    if not results:
        return
    ends = [r for r in results if set(r.users) == {pattern._nodes[-1]}] or results
    compare = _Comparison(module, pattern_module, ignore_literals)
    found = [m for m in _from(graph, ends, {}, compare) if _is_closed(m, results)]
    taken: set[Node] = set()
    for nodes_map in found:
        inner = {n for p, n in nodes_map.items() if p.op != "placeholder" and isinstance(n, Node)}
        if inner & taken:
            continue
        taken |= inner
        yield Match(ends[0], nodes_map)


def _from(
    graph: Graph, ends: list[Node], so_far: dict[Node, Any], compare: _Comparison
) -> list[dict[Node, Any]]:
    """All ways to match the pattern's results, one after the other."""
    if not ends:
        return [so_far]
    found = []
    for node in graph._nodes:
        nodes_map = dict(so_far)
        if compare.same(ends[0], node, nodes_map):
            found += _from(graph, ends[1:], nodes_map, compare)
    return found


def _is_closed(nodes_map: dict[Node, Any], results: list[Node]) -> bool:
    """Whether nothing outside uses the nodes between the pattern's inputs and its results."""
    inside = set(nodes_map.values())
    return all(
        user in inside
        for wanted, node in nodes_map.items()
        if wanted.op != "placeholder" and wanted not in results
        for user in node.users
    )


class _Comparison:
    """Compares whether a node of the graph computes the same as a node of the pattern, from the inputs on."""

    def __init__(self, module: Any, pattern_module: Any, ignore_literals: bool) -> None:
        self.module, self.pattern_module = module, pattern_module
        self.ignore_literals = ignore_literals

    def same(self, wanted: Any, given: Any, nodes_map: dict[Node, Any]) -> bool:
        """Compare, and record matching nodes in the map."""
        if not isinstance(wanted, Node):
            if isinstance(given, Node):
                return False
            return self.ignore_literals or (type(given) is type(wanted) and given == wanted)
        if wanted in nodes_map:
            known = nodes_map[wanted]
            return known is given if isinstance(given, Node) else known == given
        if isinstance(given, Node) and any(known is given for known in nodes_map.values()):
            return False  # distinct nodes of the pattern match distinct nodes
        if wanted.op == "placeholder":
            nodes_map[wanted] = given
            return True
        if not isinstance(given, Node) or not self._calls_the_same(wanted, given):
            return False
        nodes_map[wanted] = given
        first, second = _flat((wanted.args, wanted.kwargs)), _flat((given.args, given.kwargs))
        return len(first) == len(second) and all(
            self.same(a, b, nodes_map) for a, b in zip(first, second, strict=True)
        )

    def _calls_the_same(self, wanted: Node, given: Node) -> bool:
        if wanted.op != given.op:
            return False
        if wanted.op != "get_attr":
            return bool(wanted.target == given.target)
        ours, theirs = (
            _attribute(m, str(n.target))
            for m, n in ((self.module, given), (self.pattern_module, wanted))
        )
        return type(ours) is type(theirs)


class _Shape(NamedTuple):
    """The start of a nested argument: its container type, length and keys."""

    kind: type
    names: tuple[Any, ...]


def _flat(nest: Any) -> list[Any]:
    """The leaves of nested arguments, each group preceded by its shape."""
    if isinstance(nest, (tuple, list)):
        return [_Shape(type(nest), (len(nest),)), *[leaf for v in nest for leaf in _flat(v)]]
    if isinstance(nest, dict):
        names = tuple(sorted(nest, key=str))
        return [_Shape(dict, names), *[leaf for name in names for leaf in _flat(nest[name])]]
    if isinstance(nest, slice):
        return [_Shape(slice, ()), *_flat((nest.start, nest.stop, nest.step))]
    return [nest]


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name, None)
    return module


# ---- replacing -------------------------------------------------------------------------------------


def _replace(
    graph: Graph, pattern: Graph, new: Graph, match: Match, now: dict[Node, Node]
) -> ReplacedPatterns:
    inputs = [n for n in pattern._nodes if n.op == "placeholder"]
    new_inputs = [n for n in new._nodes if n.op == "placeholder"]
    if len(inputs) != len(new_inputs):
        raise AssertionError(
            f"the pattern takes {len(inputs)} inputs, and the replacement {len(new_inputs)}"
        )
    standing: dict[Node, Any] = {}
    for wanted, taken in zip(inputs, new_inputs, strict=True):
        given = match.nodes_map.get(wanted)
        while isinstance(given, Node) and given in now:
            given = now[given]
        standing[taken] = given
        if wanted in match.nodes_map:
            match.nodes_map[wanted] = given
    before = set(graph._nodes)
    results = [match.nodes_map[r] for r in _results(pattern)]
    with graph.inserting_before(_first_after(graph, results)):
        copied = graph.graph_copy(new, standing)
    copies: list[Node] = []
    map_aggregate(copied, copies.append)
    if len(copies) != len(results):
        raise AssertionError(
            f"the pattern gives {len(results)} results, and the replacement {len(copies)}"
        )
    for old, copy in zip(results, copies, strict=True):
        old.replace_all_uses_with(copy)
        now[old] = copy
    for wanted in reversed(pattern._nodes):
        if wanted.op not in ("placeholder", "output") and wanted in match.nodes_map:
            graph.erase_node(match.nodes_map[wanted])
    made = [n for n in graph._nodes if n not in before]
    return ReplacedPatterns(match.anchor, match.nodes_map, made)


def _first_after(graph: Graph, results: list[Node]) -> Node:
    """The first node that uses one of the results; if none does, the node after the last of them."""
    users = {user for node in results for user in node.users}
    for node in graph._nodes:
        if node in users:
            return node
    last = max(graph._nodes.index(node) for node in results)
    return graph._nodes[last + 1]


def _bring_along(gm: GraphModule, replacement: Module) -> None:
    """Add the submodules and parameters that new nodes refer to to a module."""
    gm.delete_all_unused_submodules()
    for node in gm.graph._nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        path = str(node.target)
        if _attribute(gm, path) is not None:
            continue
        *parents, name = path.split(".")
        found, holder = _attribute(replacement, path), gm
        for parent in parents:
            if not hasattr(holder, parent):
                holder.add_module(parent, Module())
            holder = getattr(holder, parent)
        setattr(holder, name, found)
