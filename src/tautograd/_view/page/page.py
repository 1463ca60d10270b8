"""A graph as a standalone page: the drawing, its steps and its source, in one file.

Without JavaScript it is a table of what happened; with it, the graph is drawn, folded and stepped
through.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..._files.markup import escape
from ..._report import shell
from ..._report.wording import shared_place
from ..._user_code.source_lines import lines_of
from ..._version import __version__
from ..chain import Writer, Written, as_text
from ..uncollected import uncollected
from .axes import axes
from .graph import CUT, INPUT, LEAF, OPERATION, Graph, Node, norm_of
from .layout import lay_out
from .opened import open_at_first
from .remarks import remarks
from .saturation import saturation
from .tiles import cells_for, histogram, tile
from .touch import touchable

_FOLDER = Path(__file__).parent
AROUND = 60  # lines of a long file kept before and after the relevant ones
MOST_ROWS = 200  # rows of the table shown without JavaScript

_SCRIPTS = (
    "layout.js",
    "tiles.js",
    "drawing.js",
    "panel.js",
    "search.js",
    "share.js",
    "play.js",
    "minimap.js",
)
_TOUCH = ("touch_ops.js", "touch_words.js", "touch.js")  # for pages that recompute values
_LETTER = {OPERATION: "o", LEAF: "l", INPUT: "i", CUT: "c"}


@dataclass(frozen=True)
class Shown:
    """What a page may show of the program."""

    source: bool = True  # file names and source lines
    links: bool = False  # full paths, which let an editor open a line


def as_page(graph: Graph, shown: Shown | None = None) -> str:
    """The whole page."""
    with uncollected():
        return "".join(_page(graph, shown or Shown()))


def _page(graph: Graph, shown: Shown) -> Iterator[str]:
    writer = Writer(graph)
    written = {number: writer.step(graph.nodes[number]) for number in graph.steps}
    title = escape(graph.title)
    yield shell.head(page_title(graph, shown), [_FOLDER / "page.css"], _about(graph))
    yield '<a class="skip" href="#panel">To the explanation</a>'
    yield f'<header><h1>taut view <code>{title}</code></h1><p class="about">{escape(_about(graph))}</p>'
    yield f"{shell.TOGGLE}</header><main>"
    for note in graph.notes:
        yield f'<p class="warning note" role="note">{escape(note)}</p>'
    yield shell.text_of(_FOLDER / "app.html")
    yield from _table(graph, writer, written, shown)
    data = page_data(graph, writer, written, shown)
    data["touch"] = touchable(graph)
    held = shell.data(data)
    yield held
    parts = [*_SCRIPTS, *(_TOUCH if data["touch"] else ("untouched.js",)), "page.js"]
    packed = "packed-data" in held[:50]
    yield shell.scripts([_FOLDER / name for name in parts], packed=packed)
    yield "</body></html>\n"


def page_title(graph: Graph, shown: Shown) -> str:
    """`train.py: loss = 0.9279 – taut view`."""
    ends = [node for node in graph.nodes if node.root]
    title = graph.title
    if len(ends) == 1 and ends[0].value is not None and ends[0].value.is_single:
        title = f"{title} = {ends[0].value.text}"
    if shown.source and ends and ends[0].site is not None:
        title = f"{os.path.basename(ends[0].site.file)}: {title}"
    return f"{title} – taut view"


def _about(graph: Graph) -> str:
    ends = [node for node in graph.nodes if node.root]
    value = ", ".join(f"{n.symbol} = {n.value.text}" if n.value else n.symbol for n in ends)
    counts = {kind: sum(n.kind == kind for n in graph.nodes) for kind in _LETTER}
    parts = [
        value,
        _counted(counts[OPERATION], "operation"),
        _counted(counts[LEAF], "leaf", "leaves"),
    ]
    if counts[CUT]:
        parts.append(_counted(counts[CUT], "cut"))
    return " · ".join([*parts, f"on {graph.engine}"])


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


# ---- without JavaScript --------------------------------------------------------------------------


def _table(
    graph: Graph, writer: Writer, written: dict[int, Written], shown: Shown
) -> Iterator[str]:
    yield '<details id="summary" open><summary>As text: every step of backward</summary>'
    leaves = [n for n in graph.nodes if n.kind == LEAF]
    if leaves:
        yield '<div class="wide" tabindex="0" role="group" aria-label="Leaves"><table><thead><tr>'
        yield '<th scope="col">Leaf</th><th scope="col">Shape</th>'
        yield '<th scope="col">Gradient</th></tr></thead><tbody>'
        for node in leaves[:MOST_ROWS]:
            shape = node.value.shape_text if node.value else ""
            gradient = node.arrived[0].gradient_text if 0 in node.arrived else "none"
            yield f"<tr><td><code>{escape(node.symbol)}</code></td><td>{shape}</td>"
            yield f"<td>{escape(gradient)}</td></tr>"
        yield "</tbody></table></div>"
    found = remarks(graph)
    if found:
        yield "<p>What stands out:</p><ul>"
        for remark in found:
            node = graph.nodes[remark.node]
            where = f" ({escape(_place(node))})" if node.site and shown.source else ""
            name = escape(_titled(node, writer))
            yield f"<li>{escape(remark.before)}<b>{name}</b>{escape(remark.after)}{where}</li>"
        yield "</ul>"
    yield "<ol>"
    for number in graph.steps[:MOST_ROWS]:
        step = written[number]
        yield f"<li><b>{escape(step.title)}</b>"
        for line in [*step.arrives, *(line for _, lines in step.gives for line in lines)]:
            yield f"<br>{escape(as_text(line))}"
        yield "</li>"
    yield "</ol>"
    if len(graph.steps) > MOST_ROWS:
        yield f"<p>… and {len(graph.steps) - MOST_ROWS:,} more steps.</p>"
    yield f'</details></main><footer class="soft">Made by tautograd {escape(__version__)}.</footer>'


def _place(node: Node) -> str:
    assert node.site is not None
    return f"{os.path.basename(node.site.file)}:{node.site.line}"


# ---- with it -------------------------------------------------------------------------------------


def page_data(
    graph: Graph,
    writer: Writer,
    written: dict[int, Written],
    shown: Shown | None = None,
    *,
    steps: bool = True,
) -> dict[str, Any]:
    """The data for the page's scripts; keys are short, because there may be ten thousand of each."""
    shown = shown or Shown()
    sites, files = _Sites(), _Files(shown.links)
    layouts = lay_out(graph)
    cells = cells_for(graph) if steps else 0  # a picture without steps has no panel to show them
    named = axes(graph) if cells else {}
    nodes = []
    for node in graph.nodes:
        known = node.site is not None and shown.source
        site = sites.number(node.site, files) if known else -1
        nodes.append({**_node(node, writer, site), **_pictures(node, cells)})
        if node.number in named:
            nodes[-1]["x"] = named[node.number]
    return {
        "title": graph.title,
        "file": _file_name(graph.title),
        "end": writer.end,
        "flowed": graph.flowed,
        "nodes": nodes,
        "edges": [
            [
                e.source, e.output, e.target, e.place, norm_of(e.gradient),
                "" if e.gradient is None else _short(e.gradient.size_text), int(e.is_cut),
            ]
            for e in graph.edges
        ],
        "groups": [
            {
                "p": g.parent, "t": g.label, "a": g.about, "k": g.kind, "y": x.layers, "z": x.lanes,
                "c": int(g.is_one_call),
            }
            for g, x in zip(graph.groups, layouts, strict=True)
        ],
        "remarks": [
            [r.before, r.node, r.after, int(r.is_bad), r.more] for r in remarks(graph) if steps
        ],
        "open": open_at_first(graph, [layout.layers for layout in layouts]),
        "steps": [
            {"n": number, "t": step.title, "a": step.arrives, "g": step.gives}
            for number, step in ((n, written[n]) for n in graph.steps if steps)
        ],
        "sites": sites.listed,
        "files": files.to_list(sites.listed),
    }  # fmt: skip


def _node(node: Node, writer: Writer, site: int) -> dict[str, Any]:
    value = node.value
    found: dict[str, Any] = {"k": _LETTER[node.kind], "s": node.symbol, "p": node.group}
    title = _titled(node, writer)
    optional = {
        "q": title if title != node.symbol else "",
        "n": node.name if node.kind in (OPERATION, CUT) else "",
        "o": node.operation if node.kind == OPERATION else "",
        "v": value.text if value is not None else "",
        "h": value.shape_text if value is not None else _shape_of_gradient(node),
        "d": value.dtype if value is not None else "",
        "g": _short(node.arrived[0].gradient_text) if 0 in node.arrived else "",
        "m": norm_of(node.arrived.get(0)),
        "r": int(node.root),
        "e": _ending(node),
        "b": saturation(node),
    }
    found.update({key: text for key, text in optional.items() if text not in ("", None, 0)})
    if "m" not in found and 0 in node.arrived:
        found["m"] = norm_of(node.arrived[0])
    if site >= 0:
        found["l"] = site
    return found


def _titled(node: Node, writer: Writer) -> str:
    if node.kind == OPERATION:
        return writer.equation(node)
    if node.kind == CUT:
        return f"✂ {node.name}"
    return writer.made(node) if node.kind == INPUT and node.call else node.symbol


def _pictures(node: Node, cells: int) -> dict[str, Any]:
    """Value and gradient as heat maps, and the distribution of their entries."""
    if not cells:
        return {}
    value, gradient = node.value, node.gradient
    found = {
        "V": tile(value, cells),
        "G": tile(gradient, cells),
        "W": histogram(value),
        "H": histogram(gradient),
    }
    return {key: made for key, made in found.items() if made is not None}


def _ending(node: Node) -> str:
    """Why no gradient arrives here, where worth telling: left for Python, cut, not differentiable, frozen."""
    if node.kind == CUT:
        return "python" if node.leaves else ""
    if node.kind == INPUT and node.call:
        return "after" if node.after_cut else "none"
    return "frozen" if node.frozen else ""


def _short(text: str) -> str:
    """A norm short enough for an edge or a box."""
    return text.replace("‖·‖ = ", "‖") + ("‖" if text.startswith("‖") else "")


def _shape_of_gradient(node: Node) -> str:
    return node.arrived[0].shape_text if 0 in node.arrived else ""


def _file_name(title: str) -> str:
    """The default file name for a saved picture."""
    return "".join(c if c.isalnum() else "-" for c in title).strip("-") or "graph"


class _Files:
    """The source that the page shows; with full paths only on request."""

    def __init__(self, links: bool) -> None:
        self.links = links
        self.numbers: dict[str, int] = {}

    def number(self, path: str) -> int:
        return self.numbers.setdefault(path, len(self.numbers))

    def to_list(self, sites: list[list[Any]]) -> list[dict[str, Any]]:
        found = []
        for path, number in self.numbers.items():
            lines = lines_of(path)
            wanted = [site[1] for site in sites if site[0] == number]
            first = max(min(wanted, default=1) - AROUND, 1)
            last = min(max(wanted, default=1) + AROUND, len(lines))
            found.append(
                {
                    "name": shared_place(path),
                    "path": os.path.abspath(path) if self.links and os.path.isfile(path) else "",
                    "first": first,
                    "lines": [line.rstrip("\r\n") for line in lines[first - 1 : last]],
                }
            )
        return found


class _Sites:
    """Lines of source, each once."""

    def __init__(self) -> None:
        self.listed: list[list[Any]] = []
        self._known: dict[Any, int] = {}

    def number(self, site: Any, files: _Files) -> int:
        key = site.file, site.line
        if key not in self._known:
            self._known[key] = len(self.listed)
            self.listed.append([files.number(site.file), site.line, site.function])
        return self._known[key]
