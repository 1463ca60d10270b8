"""Coordinates for pictures made without a browser: the page's layout, in Python.

Text sizes are estimated, slightly too wide, since no font is available. The rest mirrors `layout.js`:
layers come with the data; within a layer, items are as near to the middle of their neighbours as space
allows.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..record.values import number as written

GAP, RISE, PORT, PAD, HEAD, HEIGHT = 22.0, 42.0, 14.0, 16.0, 24.0, 58.0
_NARROW = frozenset("iljtfrI.,:;'|()[]!‖ ")
_MOST = 44  # characters of a title, and of a value
Data = dict[str, Any]


@dataclass
class Place:
    """A box: the middle of its upper edge, and its size."""

    x: float
    y: float
    w: float
    h: float


@dataclass
class _Laid:
    w: float
    h: float
    places: dict[str, Place]
    inner: dict[int, _Laid]


@dataclass
class Arranged:
    """Everything that is shown, in coordinates of the whole picture."""

    w: float = 0.0
    h: float = 0.0
    boxes: dict[str, Place] = field(default_factory=dict)
    frames: list[tuple[int, Place]] = field(default_factory=list)
    points: dict[str, Place] = field(default_factory=dict)


def width(text: str, size: float = 13.0) -> float:
    """The approximate width of a text."""
    return sum(0.34 if c in _NARROW else 0.62 for c in text) * size


def short(text: str) -> str:
    """As much of a text as fits; a number is never cut: `1…` may be 1.676e-8."""
    if len(text) <= _MOST:
        return text
    kept = text[: _MOST - 1]
    if re.match(r"[\d.e−-]", text[len(kept) :]):
        kept = re.sub(r"(^|[\s\[(,‖=·])[−-]?\d[\d.e−-]*$", r"\1", kept)
    return re.sub(r"[\s\[(,‖=·…−-]+$", "", kept) + "…"


def texts(data: Data, name: str) -> tuple[str, str, str]:
    """The texts in a box: title, value, gradient."""
    number = int(name[1:])
    if name[0] == "n":
        node = data["nodes"][number]
        value, shape = node.get("v", ""), node.get("h", "")
        parts = [value, shape if shape != "number" and not value.startswith("[") else ""]
        said = " · ".join(part for part in parts if part)
        if not said and node["k"] == "o":
            said = "value not kept"
        gradient = f"∂ {node['g']}" if node.get("g") else ""
        return short(node.get("q", node["s"])), short(said), short(gradient)
    group = data["groups"][number]
    if group.get("c"):
        return _docked(data, number)
    named = f"{group['t']}  {group['a']}" if group["a"] not in ("", group["t"]) else group["t"]
    about = "folded"
    held, cuts = _held(data, number)
    if cuts:
        about += f" · ✂ {cuts} {'cut' if cuts == 1 else 'cuts'}"
    return f"▸ {short(named)}", short(about), _reach(data, held)


def _held(data: Data, number: int) -> tuple[list[Any], int]:
    """The leaves in a group at any depth, and the number of cuts there."""

    def is_inside(group: int) -> bool:
        while group >= 0 and group != number:
            group = data["groups"][group]["p"]
        return group == number

    nodes = [node for node in data["nodes"] if node["k"] in "lc" and is_inside(node["p"])]
    return [n for n in nodes if n["k"] == "l"], sum(n["k"] == "c" for n in nodes)


def _reach(data: Data, leaves: list[Any]) -> str:
    """The range of their gradients; NaN counts as a value."""
    known = [node.get("m") for node in leaves]
    norms = [norm for norm in known if isinstance(norm, (int, float))]
    if not data["flowed"] or not known:
        return ""
    if any(isinstance(norm, str) for norm in known):
        return "∂ of its leaves: not finite"
    if not norms:
        return "no gradient arrives"
    low, high = min(norms), max(norms)
    return f"∂ ‖{written(low)}‖" + (f" … ‖{written(high)}‖" if high > low else "")


def _docked(data: Data, number: int) -> tuple[str, str, str]:
    """A layer that is one operation, with its parameters; a composite function, with its result."""
    group = data["groups"][number]
    inside = [node for node in data["nodes"] if node["p"] == number]
    leaves = [node for node in inside if node["k"] == "l" or node.get("e") == "frozen"]
    if not leaves:
        last = [node for node in inside if node["k"] == "o"][-1]
        gradient = f"∂ {last['g']}" if last.get("g") else ""
        return short(f"▸ {last['s']} = {group['t']}(…)"), short(last.get("v", "")), short(gradient)
    about = f"  {group['a']}" if group["a"] != group["t"] else ""
    held = " · ".join(f"{n['s'].rpartition('.')[2]} {n.get('h', '')}" for n in leaves)
    sizes = " · ".join(f"{n['s'].rpartition('.')[2]} {_norm(n)}" for n in leaves if n.get("g"))
    gradient = f"∂ {sizes}" if sizes else ""
    if all(n.get("e") == "frozen" for n in leaves):
        gradient = "frozen: wants no gradient"
    return short(f"▸ {group['t']}{about}"), short(held), short(gradient)


def _norm(leaf: Any) -> str:
    """The size of a leaf's gradient, where its entries do not fit."""
    if leaf["g"].startswith("‖"):
        return str(leaf["g"])
    return f"‖{written(leaf['m'])}‖" if isinstance(leaf["m"], (int, float)) else "‖NaN‖"


def arrange(data: Data) -> Arranged:
    """The position of everything, with the initially open groups open."""
    found, opened = Arranged(), set(data["open"])
    whole = _layout(data, 0, opened)
    found.w, found.h = whole.w, whole.h
    _put(found, 0, whole, 0.0, 0.0)
    return found


def _put(found: Arranged, group: int, laid: _Laid, dx: float, dy: float) -> None:
    for name, place in laid.places.items():
        at = replace(place, x=place.x + dx, y=place.y + dy)
        number = int(name[1:]) if name[0] in "gn" else -1
        if name[0] == "g" and number in laid.inner:
            found.frames.append((number, at))
            child = laid.inner[number]
            room = max(0.0, (at.w - 2 * PAD - child.w) / 2)
            _put(found, number, child, at.x - at.w / 2 + PAD + room, at.y + HEAD)
        elif name[0] in "gn":
            found.boxes[name] = at
        found.points[f"{group}:{name}"] = at


def _layout(data: Data, number: int, opened: set[int]) -> _Laid:
    group = data["groups"][number]
    inner: dict[int, _Laid] = {}

    def size(name: str) -> tuple[float, float]:
        if name[0] == "g" and int(name[1:]) in opened:
            child = inner[int(name[1:])] = _layout(data, int(name[1:]), opened)
            return child.w + 2 * PAD, child.h + PAD + HEAD
        if name[0] in "gn":
            title, value, gradient = texts(data, name)
            return max(74.0, max(width(title), width(value, 12), width(gradient, 12)) + 26), HEIGHT
        return PORT, 0.0

    places, y = {}, 0.0
    layers: list[list[str]] = group["y"]
    for i, layer in enumerate(layers):
        x = tall = 0.0
        for name in layer:
            w, h = size(name)
            places[name] = Place(x + w / 2, y, w, h)
            x, tall = x + w + GAP, max(tall, h)
        for name in layer:
            place = places[name]
            if name[0] == "l":  # an edge passes an unfolded module in a straight line
                place.h = max(0.0, tall - HEIGHT)
            feeds = name[0] == "n" and data["nodes"][int(name[1:])]["k"] in "li"
            place.y, place.x = y + (tall - place.h) * (1.0 if feeds else 0.5), place.x - x / 2
        last = i + 1 == len(layers)
        ports = not last and all(name[0] == "o" for name in layers[i + 1])
        y += tall + (0.0 if last else 14.0 if not tall or ports else RISE)
    _settle_layers(group, layers, places)
    left = min((p.x - p.w / 2 for p in places.values()), default=0.0)
    right = max((p.x + p.w / 2 for p in places.values()), default=0.0)
    for place in places.values():
        place.x -= left
    least = width(group["t"] + group["a"]) + 40 - 2 * PAD if number else 0.0
    return _Laid(max(right - left, least), y, places, inner)


def _settle_layers(group: Data, layers: list[list[str]], places: dict[str, Place]) -> None:
    near: dict[str, tuple[list[str], list[str]]] = {name: ([], []) for name in places}
    for key, lanes in group["z"].items():
        one, _, other = key.partition(">")
        path = [one, *lanes, other]
        for a, b in itertools.pairwise(path):
            if a in near and b in near:
                near[a][1].append(b)
                near[b][0].append(a)
    for _ in range(5):
        for layer in layers[1:]:
            _sweep(layer, 0, near, places)
        for layer in layers[-2::-1]:
            _sweep(layer, 1, near, places)


def _sweep(
    layer: list[str],
    side: int,
    near: dict[str, tuple[list[str], list[str]]],
    places: dict[str, Place],
) -> None:
    wanted, weight, room = [], [], []
    for i, name in enumerate(layer):
        others = near[name][side]
        wanted.append(sum(places[o].x for o in others) / len(others) if others else places[name].x)
        weight.append((3.0 if name[0] in "lio" else 1.0 + len(others)) if others else 0.05)
        before = places[layer[i - 1]].w if i else 0.0
        room.append((before + places[name].w) / 2 + GAP if i else 0.0)
    for name, x in zip(layer, settle(wanted, weight, room), strict=True):
        places[name].x = x


def settle(wanted: Sequence[float], weight: Sequence[float], room: Sequence[float]) -> list[float]:
    """Non-overlapping positions closest to the desired ones: pooled averages."""
    blocks: list[tuple[float, float, int]] = []  # sum, weight, how many
    shift = 0.0
    shifts = []
    for want, heavy, space in zip(wanted, weight, room, strict=True):
        shift += space
        shifts.append(shift)
        total, mass, count = (want - shift) * heavy, heavy, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / mass:
            before = blocks.pop()
            total, mass, count = total + before[0], mass + before[1], count + before[2]
        blocks.append((total, mass, count))
    found = [total / mass for total, mass, count in blocks for _ in range(count)]
    return [at + shift for at, shift in zip(found, shifts, strict=True)]
