"""What stands out in a graph, so that nobody has to search for it: where numbers stop being finite, what is
cut, where a gradient ends, shrinks or grows, which activations are saturated, and which values are used more
than once.

Every remark is about one node and follows from figures that the graph holds; a graph in which nothing stands
out has none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..record.values import Value, number
from .graph import CUT, LEAF, OPERATION, Edge, Graph, Node
from .saturation import saturation

STEEP = 100.0  # times: a single operation that changes a norm by more is told
FAR_APART = 1000.0  # times: gradients of two leaves that are farther apart are told
MOST = 3  # remarks of one kind that are shown at once
KEPT = 40  # remarks of one kind that can be unfolded; the rest are counted

Sizes = tuple[
    Node, float, float
]  # an operation, the norm that arrives, and the one that it hands on


@dataclass(frozen=True)
class Remark:
    """A sentence with the name of a node in it."""

    before: str
    node: int
    after: str
    is_bad: bool = False
    more: str = ""  # of one beyond the first few of its kind: what those are, as "cuts"


def remarks(graph: Graph) -> list[Remark]:
    """All of them, the gravest first."""
    into, out_of = graph.edges_into(), graph.edges_out_of()
    flat = {node.number: said for node in graph.nodes if (said := saturation(node))}
    sizes = list(_operations(graph, into))
    kinds = {
        "that are not finite": _not_finite(graph, into),
        "cuts": _cuts(graph, into),
        "leaves without a gradient": _without_gradient(graph),
        "frozen parameters": _frozen(graph),
        "operations at which the gradient ends": _stopped(sizes, flat),
        "large changes": _steepest(graph, into, sizes, flat),
        "saturated activations": _saturated(flat),
        "far apart": _least_and_most(graph),
        "values that are used several times": _used_again(graph, out_of),
    }
    return [remark for what, kind in kinds.items() for remark in _few(what, list(kind))]


def _few(what: str, found: list[Remark]) -> list[Remark]:
    """The first few at once, as many again as can be read when they are asked for, the rest as a number."""
    if len(found) <= MOST + 1:  # one more is told as soon as counted
        return found
    rest = [replace(remark, more=what) for remark in found[MOST:KEPT]]
    if len(found) > KEPT:
        last = rest[-1]
        rest[-1] = replace(last, after=f"{last.after} (and {len(found) - KEPT:,} more)")
    return [*found[:MOST], *rest]


def _not_finite(graph: Graph, into: dict[int, list[Edge]]) -> Iterator[Remark]:
    """The first value, and in the order of backward the first gradient, that comes of finite ones.

    A value that is not finite and spoils nothing, as the mask of an attention, is none of them.
    """
    for node in _spoilers(graph, into):
        if node.value is not None:
            yield Remark(
                "The first value that is not finite: ", node.number, f" is {node.value.text}", True
            )
            break
    for step in graph.steps:
        node = graph.nodes[step]
        bad = [e for e in into[step] if _is_strange(e.gradient)]
        if bad and not any(_is_strange(value) for value in node.arrived.values()):
            edge = bad[0]
            assert edge.gradient is not None
            name = graph.nodes[edge.source].symbol_of(edge.output)
            yield Remark(
                "The first gradient that is not finite: ",
                step,
                f" hands {edge.gradient.gradient_text} to {name}",
                True,
            )
            break


def _spoilers(graph: Graph, into: dict[int, list[Edge]]) -> Iterator[Node]:
    """Where the way back from an end that is not finite, along such values, comes to finite ones."""
    pending = [node.number for node in graph.nodes if node.root and _is_strange(node.value)]
    seen, found = set(pending), []
    while pending:
        number_ = pending.pop()
        strange = [
            e.source
            for e in into[number_]
            if _is_strange(graph.nodes[e.source].outputs.get(e.output))
        ]
        if not strange:
            found.append(number_)
        pending += [source for source in strange if source not in seen]
        seen.update(strange)
    yield from (graph.nodes[number_] for number_ in sorted(found))


def _is_strange(value: Value | None) -> bool:
    return value is not None and value.strange > 0


def _cuts(graph: Graph, into: dict[int, list[Edge]]) -> Iterator[Remark]:
    for node in graph.nodes:
        if node.kind == CUT:
            names = dict.fromkeys(
                graph.nodes[e.source].symbol_of(e.output) for e in into[node.number]
            )
            to = f" to {', '.join(names)}" if names else ""
            yield Remark(
                "The graph is cut by ",
                node.number,
                f": no gradient comes back through it{to}",
                True,
            )


def _without_gradient(graph: Graph) -> Iterator[Remark]:
    if graph.flowed:
        for node in graph.nodes:
            if node.kind == LEAF and not node.arrived:
                yield Remark("No gradient arrives at ", node.number, "", True)


def _frozen(graph: Graph) -> Iterator[Remark]:
    for node in graph.nodes:
        if node.frozen:
            yield Remark("", node.number, " is frozen: it wants no gradient, and gets none")


def _stopped(sizes: list[Sizes], flat: dict[int, str]) -> Iterator[Remark]:
    """Operations at which something arrives, and that hand on zeros alone."""
    for node, arrived, given in sizes:
        if arrived > 0 and given == 0:
            said = "hands on zeros alone: the gradient ends there"
            if node.number in flat:
                said = f"{flat.pop(node.number)}; it {said}"
            yield Remark("", node.number, f" {said}", True)


def _saturated(flat: dict[int, str]) -> Iterator[Remark]:
    """Activations at their flat ends, of which nothing graver was said."""
    for number_, said in flat.items():
        yield Remark("", number_, f" {said}, and hardly any gradient passes there")


def _operations(graph: Graph, into: dict[int, list[Edge]]) -> Iterator[Sizes]:
    """Each with the largest norm that arrives and the largest that it hands on, where both are finite."""
    for step in graph.steps:
        node = graph.nodes[step]
        given = [e.gradient.norm for e in into[step] if e.gradient is not None]
        came = [value.norm for value in node.arrived.values()]
        if node.kind == OPERATION and given and all(map(math.isfinite, [*given, *came])):
            yield node, max(came, default=0.0), max(given)


def _steepest(
    graph: Graph, into: dict[int, list[Edge]], sizes: list[Sizes], flat: dict[int, str]
) -> Iterator[Remark]:
    """Where the norm changes most on the way on: what a layer gives to its own parameters ends there."""
    found = []
    for node, came, given in sizes:
        onward = [
            e.gradient.norm
            for e in into[node.number]
            if e.gradient is not None and graph.nodes[e.source].kind == OPERATION
        ]
        goes = max(onward, default=given)
        if came > 0 and goes > 0:
            found.append((goes / came, node, came, goes))
    if not found:
        return
    for verb, (ratio, node, came, goes) in (
        ("shrinks", min(found, key=lambda one: one[0])),
        ("grows", max(found, key=lambda one: one[0])),
    ):
        if (1 / ratio if verb == "shrinks" else ratio) >= STEEP:
            after = f": ‖{number(came)}‖ arrives, ‖{number(goes)}‖ goes on"
            if verb == "shrinks" and node.number in flat:
                after = f", which {flat.pop(node.number)}{after}"
            yield Remark(f"The gradient {verb} most at ", node.number, after)


def _least_and_most(graph: Graph) -> Iterator[Remark]:
    sizes = [
        (node.gradient.norm, node)
        for node in graph.nodes
        if node.kind == LEAF
        and node.gradient is not None
        and 0 < node.gradient.norm < math.inf  # NaN is neither
    ]
    if not sizes:
        return
    (least, first), (most, last) = (choose(sizes, key=lambda one: one[0]) for choose in (min, max))
    if most / least >= FAR_APART:
        after = f", ‖{number(least)}‖; {last.symbol} the largest, ‖{number(most)}‖"
        yield Remark("Of all leaves the smallest gradient has ", first.number, after)


def _used_again(graph: Graph, out_of: dict[int, list[Edge]]) -> Iterator[Remark]:
    """Tensors, not nodes: `split` gives several, each of which may be used once."""
    uses: dict[tuple[int, int], list[Edge]] = {}
    for edges in out_of.values():
        for edge in edges:
            source, target = graph.nodes[edge.source], graph.nodes[edge.target]
            if not edge.is_cut and source.kind in (LEAF, OPERATION) and target.kind == OPERATION:
                uses.setdefault((edge.source, edge.output), []).append(edge)
    leaves_first = sorted(
        uses.items(), key=lambda u: (-len(u[1]), graph.nodes[u[0][0]].kind != LEAF)
    )
    for (source_number, output), edges in leaves_first:
        if len(edges) > 1:
            node = graph.nodes[source_number]
            which = f"{node.symbol_of(output)} of " if node.symbol_of(output) != node.symbol else ""
            after = f" is used {len(edges)} times{_brought(graph, edges)}"
            yield Remark(which, source_number, after)


def _brought(graph: Graph, uses: list[Edge]) -> str:
    """What of several uses comes back: those behind a cut bring nothing."""
    bring = sum(edge.gradient is not None for edge in uses)
    if not graph.flowed or not bring:
        return "; no gradient comes back through any" if graph.flowed else ""
    if bring == len(uses):
        return ": its gradient is their sum"
    return f"; {bring} of them {'brings' if bring == 1 else 'bring'} a gradient, the others are cut off"
