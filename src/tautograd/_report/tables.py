"""A table as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from .._files.markup import escape


def text_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[int] = ()
) -> str:
    """Columns of even width under their headers; those in `right` are flush right."""
    lines = [headers, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headers))]

    def one(line: Sequence[str]) -> str:
        cells = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join([one(headers), *map(one, rows)])


def html_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    bad: Collection[int] = (),
    right: Collection[int] = (),
    caption: str = "",
    after: Sequence[str] = (),
) -> str:
    """The same for a notebook; rows in `bad` stand out, and `after` are sentences below it."""
    return "".join(_html(headers, rows, bad, right, caption, after))


def scrolling(table: str, name: str) -> str:
    """A table that may be wider than its page, in a container that can be scrolled by keyboard."""
    return (
        f'<div style="overflow-x:auto;max-width:100%" tabindex="0" role="group" aria-label="{escape(name)}">'
        f"{table}</div>"
    )


def _html(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    bad: Collection[int],
    right: Collection[int],
    caption: str,
    after: Sequence[str],
) -> Iterator[str]:
    def cells(tag: str, line: Sequence[str], stands_out: bool = False) -> str:
        looks = [
            f"text-align:{'right' if i in right else 'left'};padding:0.15em 1em 0.15em 0.4em"
            + (";box-shadow:inset 0.25em 0 #cf222e" if stands_out and not i else "")
            for i in range(len(line))
        ]
        scope = ' scope="col"' if tag == "th" else ""
        return "".join(
            f'<{tag}{scope} style="{look}">{escape(cell)}</{tag}>'
            for look, cell in zip(looks, line, strict=True)
        )

    table = '<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">'
    if caption:
        table += f"<caption>{escape(caption)}</caption>"
    table += f"<thead><tr>{cells('th', headers)}</tr></thead><tbody>"
    for i, row in enumerate(rows):
        style = ' style="font-weight:bold"' if i in bad else ""  # colour needs a known background
        table += f"<tr{style}>{cells('td', row, i in bad)}</tr>"
    yield scrolling(table + "</tbody></table>", caption or ", ".join(headers))
    for sentence in after:
        yield f"<p>{escape(sentence)}</p>"
