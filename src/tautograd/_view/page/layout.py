"""Layout: in each group, layers of items, in an order with few crossings.

The expensive part of a layered drawing is done here, once, separately for each group: which layer, and
which position in it. The sizes of items depend on what is unfolded, so the page computes the
coordinates. An edge that leaves a group goes through a *port* at its lower border, one that enters
through a port at its upper border; an edge across several layers has a *lane* in each of those between.
"""

from __future__ import annotations

import bisect
import itertools
from dataclasses import dataclass, field

from .graph import INPUT, LEAF, Edge, Graph
from .groups import ancestors

SWEEPS = 6
MOST_LANES = 600  # in a group; edges beyond that are straight


@dataclass
class Layout:
    """The layout of one group: the item names in each layer, from left to right, and the lanes."""

    layers: list[list[str]]
    lanes: dict[str, list[str]] = field(default_factory=dict)  # of every link "a>b", if it has any


def lay_out(graph: Graph) -> list[Layout]:
    """A layout for each group."""
    items: list[dict[str, bool]] = [{} for _ in graph.groups]  # name -> whether it is a source
    links: list[set[tuple[str, str]]] = [set() for _ in graph.groups]
    for group in graph.groups[1:]:
        items[group.parent][f"g{group.number}"] = False
    for node in graph.nodes:
        items[node.group][f"n{node.number}"] = node.kind in (LEAF, INPUT)
    around = [ancestors(graph, group.number) for group in graph.groups]
    for edge in graph.edges:
        _link(graph, edge, around, items, links)
    return [_layered(items[i], links[i]) for i in range(len(graph.groups))]


def _link(
    graph: Graph,
    edge: Edge,
    around: list[list[int]],
    items: list[dict[str, bool]],
    links: list[set[tuple[str, str]]],
) -> None:
    """An edge as links in every group that it goes through."""
    source, target = graph.nodes[edge.source], graph.nodes[edge.target]
    ups, downs = around[source.group], around[target.group]
    depth = 0
    while depth < min(len(ups), len(downs)) and ups[depth] == downs[depth]:
        depth += 1
    tensor = f"{edge.source}.{edge.output}"
    start = f"n{edge.source}"
    for group in reversed(ups[depth:]):
        port = f"o{tensor}"
        items[group].setdefault(port, False)
        links[group].add((start, port))
        start = f"g{group}"
    end = f"n{edge.target}"
    for group in reversed(downs[depth:]):
        port = f"i{tensor}"
        items[group].setdefault(port, True)
        links[group].add((port, end))
        end = f"g{group}"
    if start != end:
        links[ups[depth - 1]].add((start, end))


def _layered(items: dict[str, bool], links: set[tuple[str, str]]) -> Layout:
    after: dict[str, list[str]] = {name: [] for name in items}
    before: dict[str, list[str]] = {name: [] for name in items}
    for a, b in sorted(links):
        after[a].append(b)
        before[b].append(a)
    ordered = _by_time(items, after, before)
    layer = _layers(ordered, after, before, items)
    height = max(layer.values(), default=0) + 1
    lanes: dict[str, list[str]] = {}
    left = MOST_LANES
    chains: list[tuple[str, list[str], str]] = []
    for a, b in sorted(links, key=lambda link: (abs(layer[link[1]] - layer[link[0]]), link)):
        gap = layer[b] - layer[a] - 1
        names: list[str] = []
        if 0 < gap <= left:
            left -= gap
            names = [f"l{left + i}" for i in range(gap)]
            for i, name in enumerate(names):
                layer[name] = layer[a] + 1 + i
        lanes[f"{a}>{b}"] = names
        chains.append((a, names, b))
    layers: list[list[str]] = [[] for _ in range(height)]
    for name in [*ordered, *(lane for names in lanes.values() for lane in names)]:
        layers[layer[name]].append(name)
    return Layout(_uncrossed(layers, chains), lanes)


def _by_time(
    items: dict[str, bool], after: dict[str, list[str]], before: dict[str, list[str]]
) -> list[str]:
    """Every item after those it depends on; cycles are broken in the given order."""
    waiting = {name: len(before[name]) for name in items}
    ready = [name for name in items if not waiting[name]][::-1]
    ordered: list[str] = []
    done: set[str] = set()
    remaining = dict.fromkeys(items)
    while remaining:
        name = ready.pop() if ready else next(iter(remaining))
        if name in done:
            continue
        done.add(name)
        remaining.pop(name)
        ordered.append(name)
        for following in reversed(after[name]):
            waiting[following] -= 1
            if not waiting[following] and following not in done:
                ready.append(following)
    return ordered


def _layers(
    ordered: list[str],
    after: dict[str, list[str]],
    before: dict[str, list[str]],
    items: dict[str, bool],
) -> dict[str, int]:
    place = {name: i for i, name in enumerate(ordered)}
    layer: dict[str, int] = {}
    for name in ordered:
        comes = [layer[b] + 1 for b in before[name] if place[b] < place[name]]
        layer[name] = max(comes, default=0)
    for name in reversed(ordered):  # move closer to its users if possible
        goes = [layer[a] for a in after[name] if place[a] > place[name]]
        few = len(before[name]) <= len(after[name]) and not name.startswith("i")
        if goes and few:
            layer[name] = max(layer[name], min(goes) - 1)
    last = max((n for name, n in layer.items() if name[0] != "o"), default=0)
    for name in ordered:
        if name.startswith("o"):
            layer[name] = last + 1
    used = {n: i for i, n in enumerate(sorted(set(layer.values())))}
    return {name: used[n] for name, n in layer.items()}


def _uncrossed(
    layers: list[list[str]], chains: list[tuple[str, list[str], str]]
) -> list[list[str]]:
    """Sort each layer by the mean position of its neighbours, down and up a few times."""
    above: dict[str, list[str]] = {}
    below: dict[str, list[str]] = {}
    for a, names, b in chains:
        path = [a, *names, b]
        for one, other in itertools.pairwise(path):
            below.setdefault(one, []).append(other)
            above.setdefault(other, []).append(one)
    where = {name: float(i) for names in layers for i, name in enumerate(names)}
    best, fewest = layers, _crossings(layers, below)
    stale = 0
    for sweep in range(SWEEPS):
        if not fewest or stale == 2:  # neither direction improves it any more
            break
        neighbours = above if sweep % 2 == 0 else below
        layers = [list(names) for names in layers]
        for names in layers if sweep % 2 == 0 else reversed(layers):
            keys = {}
            for i, name in enumerate(names):
                near = [where[n] for n in neighbours.get(name, ())]
                keys[name] = sum(near) / len(near) if near else where.get(name, float(i))
            names.sort(key=keys.__getitem__)
            for i, name in enumerate(names):
                where[name] = float(i)
        crossings = _crossings(layers, below)
        stale += 1
        if crossings < fewest:
            best, fewest, stale = layers, crossings, 0
    return best


def _crossings(layers: list[list[str]], below: dict[str, list[str]]) -> int:
    """How many pairs of edges cross between neighbouring layers."""
    total = 0
    for upper, lower in itertools.pairwise(layers):
        place = {name: i for i, name in enumerate(lower)}
        seen: list[int] = []  # where the edges so far end, in order
        for name in upper:
            targets = [place[b] for b in below.get(name, ()) if b in place]
            for end in sorted(targets) if len(targets) > 1 else targets:
                if not seen or end >= seen[-1]:
                    seen.append(end)
                else:
                    total += len(seen) - bisect.bisect_right(seen, end)
                    bisect.insort(seen, end)
    return total
