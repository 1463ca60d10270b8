"""A graph as a standalone SVG, made without a browser, in light and dark as the reader prefers."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..._files.markup import escape
from ..chain import Writer
from ..record.values import number as written
from .coordinates import Arranged, Data, Place, arrange, short, texts
from .graph import Graph
from .page import Shown, page_data, page_title

ROOM = 24
_STYLE = """
text{font:13px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:#1c2128;text-anchor:middle}
.b{fill:#fff}.t{font-weight:600}.v{font-size:12px;fill:#59636e}.g{font-size:12px;font-weight:600;fill:#b45309}
.o rect{fill:#fff;stroke:#8a95a1}.l rect{fill:#e4f3ea;stroke:#2f8f5b}
.i rect{fill:#f6f7f9;stroke:#8a95a1;stroke-dasharray:4 3}
.c rect{fill:#fde8e8;stroke:#c4202c;stroke-dasharray:4 3}.m rect{fill:#e5eefb;stroke:#2a5db0}.c .t{fill:#c4202c}
.r rect{stroke:#1c2128;stroke-width:2.5}.f rect{fill:#2a5db0;fill-opacity:.05;stroke:#2a5db0;stroke-opacity:.45}
.f text{fill:#2a5db0;font-weight:600;text-anchor:start}.e{fill:none;stroke:#8a95a1}
.e.x{stroke:#c4202c;stroke-dasharray:6 5}
.p{font-size:11.5px;font-weight:600;fill:#59636e;paint-order:stroke;stroke:#fff;stroke-width:4px}.s{stroke:#a314b8}
@media(prefers-color-scheme:dark){text{fill:#e4e8ed}.b{fill:#14171c}.p{stroke:#14171c}.v,.p{fill:#9aa5b1}.g{fill:#ffb454}
.o rect{fill:#20262e;stroke:#5d6874}.l rect{fill:#17352a;stroke:#58c48a}.i rect{fill:#1d2229}
.c rect{fill:#431d20;stroke:#ff8a84}
.c .t{fill:#ff8a84}.m rect{fill:#1b2c4a;stroke:#8fb8ff}.r rect{stroke:#e4e8ed}.f text{fill:#8fb8ff}
.e.x{stroke:#ff8a84}.s{stroke:#ee7bff}}
"""


def as_svg(graph: Graph) -> str:
    """The picture, sized to its content."""
    writer = Writer(graph)
    data = page_data(graph, writer, {}, Shown(source=False), steps=False)
    return "".join(_svg(graph, data, arrange(data)))


def _svg(graph: Graph, data: Data, shown: Arranged) -> Iterator[str]:
    w, h = math.ceil(shown.w + 2 * ROOM), math.ceil(shown.h + 2 * ROOM)
    title = escape(page_title(graph, Shown(source=False)).removesuffix(" – taut view"))
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" '
    yield f'role="img"><title>{title}</title><desc>Made by tautograd</desc><style>{_STYLE}</style>'
    yield f'<rect class="b" width="{w}" height="{h}"/><g transform="translate({ROOM} {ROOM})">'
    for number, place in shown.frames:
        group = data["groups"][number]
        about = f"  {group['a']}" if group["a"] and group["a"] != group["t"] else ""
        yield f'<g class="f">{_rect(place, 10)}<text x="{place.x - place.w / 2 + 10:.1f}" '
        yield f'y="{place.y + 16:.1f}">{escape(short(group["t"] + about))}</text></g>'
    yield from _edges(data, shown)
    for name, place in shown.boxes.items():
        yield from _box(data, name, place)
    yield "</g></svg>\n"


def _rect(place: Place, round_: float) -> str:
    return (
        f'<rect x="{place.x - place.w / 2:.1f}" y="{place.y:.1f}" width="{place.w:.1f}" '
        f'height="{place.h:.1f}" rx="{round_:g}"/>'
    )


def _box(data: Data, name: str, place: Place) -> Iterator[str]:
    node = data["nodes"][int(name[1:])] if name[0] == "n" else None
    kind = node["k"] if node is not None else "m"
    root = " r" if node is not None and node.get("r") else ""
    title, value, gradient = texts(data, name)
    yield f'<g class="{kind}{root}">{_rect(place, {"l": 29, "i": 4}.get(kind, 8))}'
    rows = (18, 34) if gradient else (25, 42)
    for text, look, dy in ((title, "t", rows[0]), (value, "v", rows[1]), (gradient, "g", 50)):
        if text:
            yield f'<text class="{look}" x="{place.x:.1f}" y="{place.y + dy:.1f}">{escape(text)}</text>'
    yield "</g>"


# ---- edges ---------------------------------------------------------------------------------------


def _edges(data: Data, shown: Arranged) -> Iterator[str]:
    norms = [e[4] for e in data["edges"] if isinstance(e[4], (int, float)) and e[4] > 0]
    low, high = (math.log10(min(norms)), math.log10(max(norms))) if norms else (0.0, 0.0)
    merged: dict[Any, list[Any]] = {}
    for i, edge in enumerate(data["edges"]):
        a, b = _standing(data, edge[0]), _standing(data, edge[2])
        if a != b:
            key = i if a[0] == b[0] == "n" else (a, b, edge[6])
            merged.setdefault(key, [a, b, []])[2].append(edge)
    labels = []
    twins = Counter((a, b) for a, b, _ in merged.values())
    beside: Counter[tuple[str, str]] = Counter()
    for a, b, edges in merged.values():
        path = _route(data, shown, a, b, edges[0])
        aside = beside[a, b] - (twins[a, b] - 1) / 2  # on both sides of the straight line
        beside[a, b] += 1
        bow = aside * 56 if len(path) == 2 else 0
        wide = 1.1
        sizes = [e[4] for e in edges if isinstance(e[4], (int, float)) and e[4] > 0]
        if sizes:
            part = (math.log10(max(sizes)) - low) / (high - low) if high > low else 0.5
            wide = 1.3 + 4 * part
        strange = any(isinstance(e[4], str) for e in edges)
        look = "e" + (" x" if edges[0][6] else "") + (" s" if strange else "")
        yield f'<path class="{look}" stroke-width="{wide:.1f}" d="{_curve(path, bow)}"/>'
        label = _label(edges)
        if label:
            p, q = path[0], path[1]
            labels.append(
                f'<text class="p" x="{(p[0] + q[0]) / 2 + 0.75 * bow + 4:.1f}" '
                f'y="{(p[1] + q[1]) / 2 + 4:.1f}">{escape(label)}</text>'
            )
    yield from labels


def _label(edges: list[Any]) -> str:
    """The text on a line; for several edges in one, how many, the smallest and the largest."""
    known = [edge for edge in edges if edge[4] is not None]
    if len(known) < 2:
        return str(known[0][5]) if known else ""
    if any(isinstance(edge[4], str) for edge in known):
        return f"{len(known)} edges: not finite"
    low, high = (written(choose(edge[4] for edge in known)) for choose in (min, max))
    return f"{len(known)} edges: ‖{low}‖" + (f" … ‖{high}‖" if low != high else "")


def _around(data: Data, group: int) -> list[int]:
    found = []
    while group >= 0:
        found.append(group)
        group = data["groups"][group]["p"]
    return found[::-1]


def _standing(data: Data, node: int) -> str:
    """The box that represents a node: itself, or the outermost folded group that contains it."""
    for group in _around(data, data["nodes"][node]["p"]):
        if group not in data["open"]:
            return f"g{group}"
    return f"n{node}"


def _route(
    data: Data, shown: Arranged, a: str, b: str, edge: list[Any]
) -> list[tuple[float, float]]:
    source, output, target = edge[0], edge[1], edge[2]
    ups = _around(data, data["nodes"][source]["p"])
    downs = _around(data, data["nodes"][target]["p"])
    depth = 0
    while depth < min(len(ups), len(downs)) and ups[depth] == downs[depth]:
        depth += 1
    tensor = f"{source}.{output}"
    start, end = shown.boxes[a], shown.boxes[b]
    path = [(start.x, start.y + start.h)]

    def through(group: int, name: str) -> None:
        point = shown.points.get(f"{group}:{name}")
        if point is not None:
            path.append((point.x, point.y))
            if name[0] == "l" and point.h > 0:
                path.append((point.x, point.y + point.h))

    def lanes(group: int, one: str, other: str) -> None:
        for lane in data["groups"][group]["z"].get(f"{one}>{other}", []):
            through(group, lane)

    at, hidden = a, a[0] == "g"
    for group in reversed(ups[depth:]):
        if hidden:
            hidden = f"g{group}" != a
            continue
        lanes(group, at, f"o{tensor}")
        through(group, f"o{tensor}")
        at = f"g{group}"
    inner = downs[depth:]
    ends = [*(f"g{group}" for group in inner), f"n{target}"]
    last = ends.index(b) if b in ends else len(ends) - 1
    lanes(ups[depth - 1], at, ends[0])
    for i in range(last):
        through(inner[i], f"i{tensor}")
        lanes(inner[i], f"i{tensor}", ends[i + 1])
    return [*path, (end.x, end.y)]


def _curve(points: list[tuple[float, float]], bow: float) -> str:
    text = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (px, py), (qx, qy) in itertools.pairwise(points):
        half = (py + qy) / 2
        text += f"C{px + bow:.1f} {half:.1f} {qx + bow:.1f} {half:.1f} {qx:.1f} {qy:.1f}"
    return text
