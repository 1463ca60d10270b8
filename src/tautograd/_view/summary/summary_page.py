"""A summary as a page, and as a piece of a notebook: the totals first, then a row for each layer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..._files.markup import escape
from ..._report import shell
from ..._report.tables import html_table
from ..._version import __version__

if TYPE_CHECKING:
    from .summary import Summary

_STYLE = Path(__file__).with_name("summary.css")


def as_piece(summary: Summary) -> str:
    """For a notebook."""
    from .summary import HEADERS, RIGHT

    rows = [[cell.replace("  ", "\u2003") for cell in layer.row()] for layer in summary.layers]
    card = "".join(f"<li>{escape(fact)}</li>" for fact in summary.facts())
    title = f"<strong>{escape(summary.model)}</strong> on {escape(summary.engine)}"
    return f"<p>{title}</p><ul>{card}</ul>" + html_table(HEADERS, rows, right=RIGHT)


def as_page(summary: Summary) -> str:
    """The whole page."""
    return "".join(_page(summary))


def _page(summary: Summary) -> Iterator[str]:
    from .summary import HEADERS, RIGHT

    facts = summary.facts()
    yield shell.head(f"{summary.model} – taut summary", [_STYLE], "; ".join(facts))
    yield f"<header>{shell.TOGGLE}<h1>taut summary <code>{escape(summary.model)}</code> on "
    yield f"{escape(summary.engine)}</h1></header><main><ul class='facts'>"
    yield "".join(f"<li>{escape(fact)}</li>" for fact in facts)
    yield "</ul><div class='wide' tabindex='0' role='region' aria-label='Layers'><table><thead><tr>"
    for i, title in enumerate(HEADERS):
        yield f'<th scope="col"{_right(i, RIGHT)}>{title}</th>'
    yield "</tr></thead><tbody>"
    most = max((layer.parameters for layer in summary.layers), default=0) or 1
    for layer in summary.layers:
        name, *cells = layer.row()
        yield f'<tr><th scope="row" style="padding-left:{layer.depth * 1.2:.1f}rem">'
        yield f'<code title="{escape(layer.path)}">{escape(name.strip())}</code></th>'
        for i, cell in enumerate(cells, 1):
            bar = ""
            if i == 4 and layer.parameters:
                bar = f'<i class="bar" style="width:{100 * layer.parameters / most:.1f}%"></i>'
            yield f"<td{_right(i, RIGHT)}>{escape(cell)}{bar}</td>"
        yield "</tr>"
    yield "</tbody></table></div></main>"
    yield f"<footer class='soft'>Made by tautograd {escape(__version__)}. A multiplication and an addition "
    yield f"are two FLOPs.</footer>{shell.scripts([])}</body></html>\n"


def _right(column: int, right: tuple[int, ...]) -> str:
    return ' class="number"' if column in right else ""
