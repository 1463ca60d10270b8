"""Which nodes are folded together: calls of modules, and sections of what is long.

A module's call is an interval in time, and so is a section of a long list; edges point forward in time;
so groups have no cycles among them. A node without inputs goes to the innermost group that contains all
its users. Where no calls were recorded, a node's module is inferred from the parameters around it.
"""

from __future__ import annotations

from ..record.module_calls import Entered
from ..record.names import Names
from .graph import CUT, INPUT, LEAF, OPERATION, Graph, Group, Node

MOST_INSIDE = 60  # a group with more than that is divided,
PART = 40  # into parts of this many
MOST_SOURCES = 16  # leaves, or inputs, side by side in one group


def make_groups(graph: Graph, calls: dict[int, Entered], names: Names | None = None) -> None:
    """Create the graph's groups, and place each node in them."""
    names = names or Names()
    if calls:
        _from_calls(graph, calls, names)
    else:
        _from_parameters(graph, names)
    _from_functions(graph)
    _divide(graph)
    _place_sources(graph)
    _gather_sources(graph)
    _drop_small(graph)


def ancestors(graph: Graph, number: int) -> list[int]:
    """A group and those that contain it, from the outermost inwards."""
    found = []
    while number >= 0:
        found.append(number)
        number = graph.groups[number].parent
    return found[::-1]


# ---- modules -------------------------------------------------------------------------------------


def _from_calls(graph: Graph, calls: dict[int, Entered], names: Names) -> None:
    graph.groups = [Group(0, -1, "")]
    number: dict[int, int] = {0: 0}

    def group_of(call: int) -> int:
        if call not in number:
            entered = calls[call]
            parent = group_of(entered.parent)
            around = calls[entered.parent].path if entered.parent else ""
            inner = entered.path.removeprefix(f"{around}." if around else "")
            label = inner or names.called.get(id(entered.module), "") or entered.kind
            made = Group(len(graph.groups), parent, label, "module", entered.kind)
            graph.groups.append(made)
            number[call] = made.number
        return number[call]

    for node in graph.nodes:
        node.group = group_of(node.group) if node.group in calls else 0


def _from_parameters(graph: Graph, names: Names) -> None:
    """A node that uses `mlp.0.weight` belongs to `mlp.0`; one between two modules, to what contains both."""
    graph.groups = [Group(0, -1, "")]
    for node in graph.nodes:
        node.group = 0
    modules = names.modules
    paths = {name: name.rpartition(".")[0] for m in modules for name, _ in m.named_parameters()}
    kinds = {name: type(inner).__name__ for m in modules for name, inner in m.named_modules()}
    if not paths:
        return
    out, into = graph.edges_out_of(), graph.edges_into()
    own: dict[int, str] = {}
    for node in graph.nodes:
        if node.kind == LEAF and node.name in paths:
            for edge in out[node.number]:
                user = graph.nodes[edge.target]
                while user.operation in ("t", "transpose") and out[user.number]:
                    own.setdefault(user.number, paths[node.name])
                    user = graph.nodes[out[user.number][0].target]
                if len({edge.target for edge in out[node.number]}) == 1:
                    own.setdefault(user.number, paths[node.name])
    before: dict[int, str] = {}  # the module whose result a node uses, the latest of several
    after: dict[int, str] = {}  # the module that uses a node's result, the earliest of several
    for node in graph.nodes:
        sources = [e.source for e in into[node.number] if e.source in before]
        found = own.get(node.number, before[max(sources)] if sources else None)
        if found is not None:
            before[node.number] = found
    for node in reversed(graph.nodes):
        targets = [e.target for e in out[node.number] if e.target in after]
        found = own.get(node.number, after[min(targets)] if targets else None)
        if found is not None:
            after[node.number] = found
    open_path: list[tuple[str, int]] = []  # groups around the last node, in time order
    for node in graph.nodes:
        if node.kind != OPERATION:
            continue
        one, other = before.get(node.number), after.get(node.number)
        path = _common(one, other) if one is not None and other is not None else ""
        parts = path.split(".") if path else []
        wanted = [".".join(parts[: i + 1]) for i in range(len(parts))]
        same = 0
        while same < min(len(wanted), len(open_path)) and open_path[same][0] == wanted[same]:
            same += 1
        del open_path[same:]
        for full in wanted[same:]:
            parent = open_path[-1][1] if open_path else 0
            label = full.rpartition(".")[2]
            made = Group(len(graph.groups), parent, label, "module", kinds.get(full, ""))
            graph.groups.append(made)
            open_path.append((full, made.number))
        node.group = open_path[-1][1] if open_path else 0


def _from_functions(graph: Graph) -> None:
    """`cross_entropy(…)` is one box, though it recorded two nodes; so is everything that one call
    recorded.

    A module that does nothing but that call, such as Linear, is itself that box.
    """
    calls: dict[tuple[int, str], list[Node]] = {}
    others: dict[int, set[tuple[int, str]]] = {}  # per group: the functions called there
    for node in graph.nodes:
        if node.kind == OPERATION:
            if node.part_of[1]:
                calls.setdefault(node.part_of, []).append(node)
            others.setdefault(node.group, set()).add(node.part_of)
    parents = {group.parent for group in graph.groups}
    for call, nodes in calls.items():
        around = graph.groups[nodes[0].group]
        if any(node.group != around.number for node in nodes) or len(nodes) > MOST_INSIDE:
            continue
        if around.number and others[around.number] == {call} and around.number not in parents:
            around.is_one_call = True
        elif len(nodes) > 1:
            made = Group(len(graph.groups), around.number, call[1], "call", is_one_call=True)
            graph.groups.append(made)
            for node in nodes:
                node.group = made.number


def _common(one: str, other: str) -> str:
    shared = []
    for a, b in zip(one.split("."), other.split("."), strict=False):
        if a != b:
            break
        shared.append(a)
    return ".".join(shared)


# ---- long stretches ------------------------------------------------------------------------------


def _divide(graph: Graph) -> None:
    """Divide groups that contain too much into parts, parts of parts and so on, by time."""
    inside: dict[int, list[tuple[str, int]]] = {}
    seen: set[int] = set()

    def add(kind: str, number: int, group: int) -> None:
        inside.setdefault(group, []).append((kind, number))

    for node in graph.nodes:
        if node.kind in (LEAF, INPUT):
            continue
        add("node", node.number, node.group)
        group = node.group
        while group > 0 and group not in seen:
            seen.add(group)
            add("group", group, graph.groups[group].parent)
            group = graph.groups[group].parent
    for group, items in list(inside.items()):
        first = 1
        while len(items) > MOST_INSIDE:
            parts = []
            for start in range(0, len(items), PART):
                some = items[start : start + PART]
                made = Group(len(graph.groups), group, "", "part")
                graph.groups.append(made)
                for kind, number in some:
                    if kind == "node":
                        graph.nodes[number].group = made.number
                    else:
                        graph.groups[number].parent = made.number
                parts.append(("group", made.number))
            items = parts
            first += 1
    _name_parts(graph)


def _name_parts(graph: Graph) -> None:
    """`1–40`: the operations inside, counted in execution order."""
    reach: dict[int, tuple[int, int]] = {}
    count = 0
    for node in graph.nodes:
        if node.kind != OPERATION:
            continue
        count += 1
        for around in ancestors(graph, node.group):
            first, _ = reach.get(around, (count, count))
            reach[around] = first, count
    for group in graph.groups:
        if group.kind == "part" and group.number in reach:
            first, last = reach[group.number]
            group.label = f"operations {first:,} to {last:,}"


# ---- leaves and inputs ---------------------------------------------------------------------------


def _place_sources(graph: Graph) -> None:
    out = graph.edges_out_of()
    for node in reversed(graph.nodes):
        if node.kind not in (LEAF, INPUT) and not (node.kind == CUT and out[node.number]):
            continue
        shared: list[int] | None = None
        for edge in out[node.number]:
            around = ancestors(graph, graph.nodes[edge.target].group)
            if shared is None:
                shared = around
            else:
                same = [a for a, b in zip(shared, around, strict=False) if a == b]
                shared = same
        if shared and node.kind != CUT:
            given = node.kind == INPUT and node.name and not node.call  # the program's own variable
            node.group = 0 if given and not node.frozen else shared[-1]


def _gather_sources(graph: Graph) -> None:
    """Group leaves or inputs where many stand side by side."""
    for kind, name in ((LEAF, "leaves"), (INPUT, "inputs")):
        by_group: dict[int, list[Node]] = {}
        computed = {edge.target for edge in graph.edges}  # computed values stand after their source
        for node in graph.nodes:
            if node.kind == kind and node.number not in computed:
                by_group.setdefault(node.group, []).append(node)
        for group, nodes in by_group.items():
            if len(nodes) > MOST_SOURCES:
                made = Group(len(graph.groups), group, f"{len(nodes):,} {name}", "part")
                graph.groups.append(made)
                for node in nodes:
                    node.group = made.number


def _drop_small(graph: Graph) -> None:
    """Remove groups with at most one item: they show no more than the item does."""
    count: dict[int, int] = {}
    for node in graph.nodes:
        count[node.group] = count.get(node.group, 0) + 1
    for group in graph.groups[1:]:
        count[group.parent] = count.get(group.parent, 0) + 1
    new: dict[int, int] = {0: 0}
    kept: list[Group] = [graph.groups[0]]

    def target(number: int) -> int:
        while number > 0 and number not in keep:
            number = graph.groups[number].parent
        return number

    keep = {0}
    for group in graph.groups[1:]:
        if count.get(group.number, 0) > 1:
            keep.add(group.number)
    for group in graph.groups[1:]:
        if group.number in keep:
            new[group.number] = len(kept)
            kept.append(group)
    for node in graph.nodes:
        node.group = new[target(node.group)]
    parents = [new[target(group.parent)] if group.parent >= 0 else -1 for group in kept]
    for group, parent in zip(kept, parents, strict=True):
        group.parent = parent
    for i, group in enumerate(kept):
        group.number = i
    graph.groups = kept
