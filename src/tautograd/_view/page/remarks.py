"""Points out what is unusual in a graph: where numbers stop being finite, what is cut, where a gradient
ends, shrinks or grows, which activations are saturated, and which values are used more than once.

Every remark is about one node and follows from figures in the graph; an unremarkable graph has none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..record.values import Value, number
from .graph import CUT, LEAF, OPERATION, Edge, Graph, Node
from .saturation import saturation

STEEP = 100.0  # a single operation that changes a norm by a larger factor is reported
FAR_APART = 1000.0  # gradients of two leaves that differ by a larger factor are reported
MOST = 3  # remarks of one kind shown at first
KEPT = 40  # remarks of one kind that can be unfolded; the rest are counted

Sizes = tuple[Node, float, float]  # an operation, the incoming norm, and the outgoing one


@dataclass(frozen=True)
class Remark:
    """A sentence that refers to a node."""

    before: str
    node: int
    after: str
    is_bad: bool = False
    more: str = ""  # beyond the first few of its kind: a name for those, as "cuts"


def remarks(graph: Graph) -> list[Remark]:
    """All remarks, the most serious first."""
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
    """The first few at once, a readable number more on request, the rest as a count."""
    if len(found) <= MOST + 1:  # one more is as short as a count
        return found
    rest = [replace(remark, more=what) for remark in found[MOST:KEPT]]
    if len(found) > KEPT:
        last = rest[-1]
        rest[-1] = replace(last, after=f"{last.after} (and {len(found) - KEPT:,} more)")
    return [*found[:MOST], *rest]


def _not_finite(graph: Graph, into: dict[int, list[Edge]]) -> Iterator[Remark]:
    """The first value, and in backward order the first gradient, that is non-finite although its inputs
    are finite.

    A non-finite value that spoils nothing, such as an attention mask, does not count.
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
    """Where the path back from a non-finite end, along such values, reaches finite ones."""
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
    """Operations that receive a gradient and pass on only zeros."""
    for node, arrived, given in sizes:
        if arrived > 0 and given == 0:
            said = "hands on zeros alone: the gradient ends there"
            if node.number in flat:
                said = f"{flat.pop(node.number)}; it {said}"
            yield Remark("", node.number, f" {said}", True)


def _saturated(flat: dict[int, str]) -> Iterator[Remark]:
    """Saturated activations about which nothing more serious was said."""
    for number_, said in flat.items():
        yield Remark("", number_, f" {said}, and hardly any gradient passes there")


def _operations(graph: Graph, into: dict[int, list[Edge]]) -> Iterator[Sizes]:
    """Each operation with the largest incoming and the largest outgoing norm, where both are finite."""
    for step in graph.steps:
        node = graph.nodes[step]
        given = [e.gradient.norm for e in into[step] if e.gradient is not None]
        came = [value.norm for value in node.arrived.values()]
        if node.kind == OPERATION and given and all(map(math.isfinite, [*given, *came])):
            yield node, max(came, default=0.0), max(given)


def _steepest(
    graph: Graph, into: dict[int, list[Edge]], sizes: list[Sizes], flat: dict[int, str]
) -> Iterator[Remark]:
    """Where the norm changes most on its way on; a layer's gradients of its own parameters go no further."""
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
        and 0 < node.gradient.norm < math.inf  # excludes NaN
    ]
    if not sizes:
        return
    (least, first), (most, last) = (choose(sizes, key=lambda one: one[0]) for choose in (min, max))
    if most / least >= FAR_APART:
        after = f", ‖{number(least)}‖; {last.symbol} the largest, ‖{number(most)}‖"
        yield Remark("Of all leaves the smallest gradient has ", first.number, after)


def _used_again(graph: Graph, out_of: dict[int, list[Edge]]) -> Iterator[Remark]:
    """By tensor, not by node: `split` gives several, each of which may be used once."""
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
    """What each of several uses contributes: those behind a cut contribute nothing."""
    bring = sum(edge.gradient is not None for edge in uses)
    if not graph.flowed or not bring:
        return "; no gradient comes back through any" if graph.flowed else ""
    if bring == len(uses):
        return ": its gradient is their sum"
    return f"; {bring} of them {'brings' if bring == 1 else 'bring'} a gradient, the others are cut off"
