"""Renders a report for a notebook: one self-contained piece of HTML, light or dark.

Colours are inherited from the page (`currentColor`), except the verdict's, which are legible on both.
Everything that comes from the report is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..._files.markup import escape
from ..._report import shell
from ..._report.tables import scrolling
from ..._report.wording import site_text, tallied
from ..behaviour.try_inputs import ALARMING
from .render_parts import (
    CHECK_HEADERS,
    CHECK_NUMBERS,
    CONFIRMED_HEADERS,
    TRIED_HEADERS,
    VERDICTS,
    Plain,
    behaviour_text,
    check_notes,
    check_rows,
    confirmed_rows,
    cut_text,
    entry_text,
    headline,
    kink_text,
    suspect_title,
    tried_rows,
)

_PAGE = Path(__file__).with_name("report.css")
_STYLE = """
.taut-report { color: inherit; font-family: system-ui, sans-serif; line-height: 1.4; }
.taut-report .taut-verdict { border-radius: 0.3em; color: #fff; font-weight: 600;
  padding: 0.1em 0.5em; margin-right: 0.5em; background: #6e7781; }
.taut-report .taut-correct { background: #1a7f37; }
.taut-report .taut-wrong, .taut-report .taut-cut { background: #cf222e; }
.taut-report .taut-unclear { background: #9a6700; }
.taut-report .taut-card { border-left: 0.35em solid #6e7781; padding: 0.4em 0.8em; margin: 0.4em 0; }
.taut-report .taut-correct-card { border-color: #1a7f37; }
.taut-report .taut-wrong-card, .taut-report .taut-cut-card { border-color: #cf222e; }
.taut-report .taut-unclear-card { border-color: #9a6700; }
.taut-report table { border-collapse: collapse; margin: 0.5em 0; color: inherit; }
.taut-report th, .taut-report td { border: 0; padding: 0.15em 0.8em 0.15em 0; text-align: left;
  background: transparent; color: inherit; font-variant-numeric: tabular-nums; }
.taut-report th { border-bottom: 1px solid currentColor; font-weight: 600; }
.taut-report .taut-number { text-align: right; }
.taut-report .taut-bad { font-weight: 600; }
.taut-report .taut-bad td:first-child { box-shadow: inset 0.25em 0 #cf222e; padding-left: 0.5em; }
.taut-report td { vertical-align: top; } .taut-report .taut-number { white-space: nowrap; }
.taut-report code { background: transparent; color: inherit; font-family: ui-monospace, monospace; }
.taut-report summary { cursor: pointer; font-weight: 600; margin-top: 0.4em; }
.taut-report ul { margin: 0.2em 0; }
"""


def as_html(report: Any) -> str:
    """A `Report` as a piece of HTML."""
    return html_of(report.to_dict())


def html_of(report: Plain) -> str:
    """A report in its plain form as a piece of HTML."""
    return "".join(_parts(report))


def page_of(reports: Sequence[Plain]) -> str:
    """Reports as a standalone page for a browser, in the style of the kit's other pages."""
    from ... import __version__

    names = ", ".join(str(report["name"]) for report in reports)
    return "".join(
        [
            shell.head(f"{names}: {_verdicts(reports)} – taut verify", [_PAGE]),
            f"<header>{shell.TOGGLE}<h1>taut verify <code>{escape(names)}</code></h1></header>\n<main>",
            *map(html_of, reports),
            f"</main>\n<footer>Made by tautograd {escape(__version__)}.</footer>",
            shell.scripts([]),
            "</body></html>\n",
        ]
    )


def _verdicts(reports: Sequence[Plain]) -> str:
    return tallied([str(report["verdict"]) for report in reports], list(VERDICTS))


def _parts(report: Plain) -> Iterator[str]:
    verdict = str(report["verdict"])
    kind = verdict if verdict.isalpha() else "unclear"
    yield f'<div class="taut-report"><style>{_STYLE}</style><p class="taut-card taut-{kind}-card">'
    yield f'<span class="taut-verdict taut-{kind}">{escape(verdict)}</span>'
    yield f"<strong>{escape(headline(report))}</strong></p>"
    for suspect in report["suspects"]:
        yield from _suspect(suspect)
    yield _list("Cuts", [_with_site(cut_text(cut), cut) for cut in report["cuts"]])
    yield _list("Wrong entries", [entry_text(entry) for entry in report["entries"]])
    yield _list("Kinks, which are no failures", [kink_text(kink) for kink in report["kinks"]])
    rows = check_rows(report)
    if rows:
        bad = [i for i, row in enumerate(rows) if row[-1] == "wrong"]
        yield "<p><strong>The proof</strong></p>"
        yield _table(CHECK_HEADERS, rows, CHECK_NUMBERS, bad)
        yield _list("", check_notes(report))
    behaviour = behaviour_text(report) if report.get("behaviour") else ""
    yield _list(
        "Notes", [*(report.get("notes") or ()), *([f"It {behaviour}."] if behaviour else ())]
    )
    confirmed = report.get("confirmed")
    if confirmed:
        table = _table(CONFIRMED_HEADERS, confirmed_rows(confirmed))
        yield _details("Confirmed", table + _list("", confirmed.get("sentences", [])))
    if report.get("tried"):
        tried = tried_rows(report["tried"])
        bad = [i for i, row in enumerate(tried) if row[1] in ALARMING]
        yield _details("Inputs tried", _table(TRIED_HEADERS, tried, bad=bad))
    yield "</div>"


def _suspect(suspect: Plain) -> Iterator[str]:
    yield f"<p>Goes wrong in <strong>{escape(suspect_title(suspect))}</strong>"
    if suspect.get("site"):
        yield f"<br><code>{escape(site_text(suspect['site'], shared=True))}</code>"
    if suspect.get("note"):
        yield f"<br>{escape(str(suspect['note']))}"
    yield "</p>"
    yield _list("", [entry_text(entry) for entry in suspect["entries"]])


def _with_site(text: str, finding: Plain) -> str:
    return f"{text} at {site_text(finding['site'], shared=True)}" if finding.get("site") else text


def _list(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return (
        f"<p><strong>{escape(title)}</strong></p><ul>{items}</ul>" if title else f"<ul>{items}</ul>"
    )


def _details(title: str, inside: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{inside}</details>"


def _table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Sequence[int] = (),
    bad: Sequence[int] = (),
) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        scope = ' scope="col"' if tag == "th" else ""
        return "".join(
            f"<{tag}{scope}{_class('taut-number', i in numbers)}>{escape(cell)}</{tag}>"
            for i, cell in enumerate(row)
        )

    body = "".join(
        f"<tr{_class('taut-bad', i in bad)}>{cells('td', row)}</tr>" for i, row in enumerate(rows)
    )
    head = f"<thead><tr>{cells('th', headers)}</tr></thead>"
    return scrolling(f"<table>{head}<tbody>{body}</tbody></table>", ", ".join(headers))


def _class(name: str, wanted: bool) -> str:
    return f' class="{name}"' if wanted else ""
