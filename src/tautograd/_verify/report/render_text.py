"""Renders a report for a terminal: the verdict first, then what it rests on, then where to look."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..._report.colour import Paint
from ..._report.tables import text_table
from ..._report.wording import for_terminal, site_text
from ..behaviour.try_inputs import ALARMING
from .render_parts import (
    CHECK_HEADERS,
    CHECK_NUMBERS,
    CONFIRMED_HEADERS,
    TRIED_HEADERS,
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

_MOST = 10  # list entries shown; the JSON has all that were kept
_VERDICTS = {
    "correct": "good",
    "wrong": "bad",
    "cut": "bad",
    "unclear": "doubt",
    "agrees": "good",
    "kinks": "doubt",
}


def as_text(report: Any, *, colour: bool = False) -> str:
    """A `Report` as text."""
    return text_of(report.to_dict(), colour=colour)


def text_of(report: Plain, *, colour: bool = False) -> str:
    """A report in its plain form (as an evidence file holds it) as text."""
    return "\n".join(_lines(for_terminal(report), Paint(colour)))


def _lines(report: Plain, paint: Paint) -> Iterator[str]:
    verdict = str(report["verdict"])
    yield f"{paint(verdict.upper(), _VERDICTS.get(verdict))}  {headline(report)}"
    if report["checks"]:
        yield ""
        yield from _checks(report, paint)
    yield from _suspects(report, paint)
    yield from _section("cuts", [_with_site(cut_text(c), c) for c in report["cuts"]], paint)
    found = [entry_text(entry) for entry in report["entries"]]
    total = max(len(found), report.get("wrong_entries", 0))
    yield from _section("wrong entries", found, paint, total)
    kinks = [_with_site(kink_text(kink), kink) for kink in report["kinks"]]
    yield from _section("kinks, which are no failures", kinks, paint)
    behaviour = behaviour_text(report) if report.get("behaviour") else ""
    notes = [*(report.get("notes") or ()), *([f"It {behaviour}."] if behaviour else ())]
    yield from _section("notes", notes, paint, most=len(notes))
    yield from _confirmed(report.get("confirmed"), paint)
    yield from _tried(report.get("tried"), paint)


def _checks(report: Plain, paint: Paint) -> Iterator[str]:
    rows = check_rows(report)
    header, *lines = text_table(CHECK_HEADERS, rows, CHECK_NUMBERS).split("\n")
    yield paint(header, "quiet")
    for row, line in zip(rows, lines, strict=True):
        verdict = row[-1]
        yield line.removesuffix(verdict) + paint(verdict, _kind(verdict))
    for note in check_notes(report):
        yield paint(f"  {note}", "quiet")


def _kind(verdict: str) -> str | None:
    return _VERDICTS.get(verdict, "quiet")


def _suspects(report: Plain, paint: Paint) -> Iterator[str]:
    if not report["suspects"]:
        return
    yield ""
    yield paint("where it goes wrong", "title")
    for suspect in report["suspects"]:
        yield f"  {paint(suspect_title(suspect), 'bad')}"
        if suspect.get("site"):
            yield f"    {site_text(suspect['site'])}"
        for entry in suspect["entries"][:_MOST]:
            yield f"    {entry_text(entry)}"
        if len(suspect["entries"]) > _MOST:
            yield f"    and {len(suspect['entries']) - _MOST} more"
        if suspect.get("note"):
            yield f"    {suspect['note']}"


def _with_site(text: str, finding: Plain) -> str:
    return f"{text}\n    {site_text(finding['site'])}" if finding.get("site") else text


def _section(
    title: str, lines: list[str], paint: Paint, total: int = 0, most: int = _MOST
) -> Iterator[str]:
    if not lines:
        return
    yield ""
    yield paint(title, "title")
    yield from (f"  {line}" for line in lines[:most])
    hidden = max(total, len(lines)) - min(most, len(lines))
    if hidden > 0:
        yield f"  and {hidden:,} more"


def _confirmed(confirmed: Any, paint: Paint) -> Iterator[str]:
    if not confirmed:
        return
    yield ""
    yield paint("confirmed", "title")
    rows = confirmed_rows(confirmed)
    if rows:
        header, *lines = text_table(CONFIRMED_HEADERS, rows).split("\n")
        yield paint(f"  {header}", "quiet")
        yield from (f"  {line}" for line in lines)
    yield from (f"  {sentence}" for sentence in confirmed.get("sentences", ()))


def _tried(tried: Any, paint: Paint) -> Iterator[str]:
    if not tried:
        return
    rows = tried_rows(tried)
    yield ""
    yield paint("inputs tried", "title")
    header, *lines = text_table(TRIED_HEADERS, rows).split("\n")
    yield paint(f"  {header}", "quiet")
    for row, line in zip(rows, lines, strict=True):
        yield "  " + (paint(line, "bad") if row[1] in ALARMING else line)
