"""The nodes behind tensors, in time order, and what each knows about itself."""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from typing import Any

from ..._user_code.owners import Owner, owners
from ..._user_code.sites import Site
from ..._verify.locate.leaving import edge_of

Edges = dict[int, tuple[tuple[Any, int], ...]]  # the inputs of each node, by the node's id


def walk(roots: Sequence[Any], edges: Edges | None = None) -> list[Any]:
    """Every node behind these tensors, later ones first; the list keeps the nodes alive.

    Querying a node's inputs is the expensive part, so the answers are cached in `edges`.
    """
    found: dict[int, Any] = {}
    edges = {} if edges is None else edges
    users: dict[int, int] = {}
    pending = [edge[0] for root in roots if (edge := edge_of(root)) and edge[0] is not root]
    while pending:
        node = pending.pop()
        if id(node) in found:
            continue
        found[id(node)] = node
        edges[id(node)] = node.next_functions
        for following, _ in edges[id(node)]:
            if following is not None:
                users[id(following)] = users.get(id(following), 0) + 1
                pending.append(following)
    place = {key: i for i, key in enumerate(found)}  # nodes without a time keep their order
    ready = [(-time_of(node), place[key], key) for key, node in found.items() if not users.get(key)]
    heapq.heapify(ready)
    ordered: list[Any] = []
    while ready:
        node = found[heapq.heappop(ready)[2]]
        ordered.append(node)
        for following, _ in edges[id(node)]:
            if following is not None:
                users[id(following)] -= 1
                if not users[id(following)]:
                    key = id(following)
                    heapq.heappush(ready, (-time_of(following), place[key], key))
    return ordered


def time_of(node: Any) -> int:
    """When a node was recorded; leaves, which have no time, sort as the latest."""
    number = getattr(node, "_sequence_nr", None)
    if getattr(node, "variable", None) is not None or number is None:
        return 1 << 62
    return int(number())


def site_of_node(recorded: Any) -> Site | None:
    """The line that recorded a node, for engines whose nodes know it; PyTorch's do in anomaly mode."""
    place: Site | None = getattr(recorded, "created_at", None)
    return place if place is not None else _from_anomaly(recorded)


def _from_anomaly(recorded: Any) -> Site | None:
    metadata = getattr(recorded, "metadata", None)
    lines = metadata.get("traceback_") if isinstance(metadata, dict) else None
    for entry in reversed(lines or []):
        found = _FRAME.match(entry)
        if found is not None and owners[found[1]] is Owner.USERS:
            return Site(found[1], int(found[2]), found[3])
    return None


_FRAME = re.compile(r'\s*File "(.*)", line (\d+), in (.*)')
