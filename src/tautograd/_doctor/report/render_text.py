"""A report for a terminal, as linters write: place, code, the code that is meant, why, the fix."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from typing import Any

from tautograd._files.printable import printable

from ..._report.colour import Paint
from ..._report.tables import text_table
from ..._report.wording import figure, listed, place
from .report import Plain
from .wording import verdict, when

WIDEST = 100
_KINDS = {"error": "bad", "warning": "doubt", "info": "quiet"}


def as_text(report: Plain, *, colour: bool = False, root: str | None = None) -> str:
    """The whole report; paths are shown from the folder `root`, the current one by default."""
    return "\n".join(_lines(_printable(report), Paint(colour), root))


_SENTENCES = ("message", "why", "fix", "troubles", "notes")  # in which a new line is ours


def _printable(value: Any, *, lines: bool = False) -> Any:
    """A report in which names, paths and lines of code are text and do nothing on a terminal."""
    if isinstance(value, str):
        return printable(value, lines=lines)
    if isinstance(value, dict):
        return {
            _printable(key): part
            if key == "history"  # long, and of it only numbers are told
            else _printable(part, lines=lines or key in _SENTENCES)
            for key, part in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_printable(part, lines=lines) for part in value]
    return value


def _lines(report: Plain, paint: Paint, root: str | None) -> Iterator[str]:
    width = max(min(shutil.get_terminal_size((WIDEST, 24)).columns, WIDEST), 40)
    known: set[tuple[str, str]] = set()
    for finding in report["findings"]:
        yield from _finding(finding, report, paint, root, width, known)
        yield ""
    if len(report["findings"]) > 1:
        yield from _summary(report, paint, root)
        yield ""
    kind = {"findings": "bad", "clean": "good"}.get(report["verdict"], "doubt")
    if report["findings"] and all(f["severity"] != "error" for f in report["findings"]):
        kind = "doubt"
    yield paint(f"taut doctor: {verdict(report)}", kind)
    for note in report["notes"]:
        yield from textwrap.wrap(note, width)
    for trouble in report["troubles"][:3]:
        yield paint(
            f"The doctor itself made a mistake, which may hide findings: {trouble}", "doubt"
        )
    if report["findings"]:
        code = report["findings"][0]["code"]
        yield paint(f"More about a code: taut doctor --explain {code}", "quiet")


def _finding(
    finding: Plain,
    report: Plain,
    paint: Paint,
    root: str | None,
    width: int,
    known: set[tuple[str, str]],
) -> Iterator[str]:
    kind = _KINDS[finding["severity"]]
    site, change = finding["site"], finding["fix_site"]
    yield (
        f"{paint(place(site, root), 'title')}: {paint(finding['code'], kind)} "
        f"{paint(finding['name'], 'title')} {paint('[' + finding['severity'] + ']', kind)} "
        f"{when(finding, report)}"
    )
    yield from textwrap.wrap(
        finding["message"], width - 2, initial_indent="  ", subsequent_indent="  "
    )
    yield from _code(site, "here", paint, kind)
    if finding["follows"]:
        yield paint(f"  {'follows from:':<14}", "quiet") + finding["follows"]
        return
    if change is not None and (change["file"], change["line"]) != _where(site):
        other = "" if site and site["file"] == change["file"] else f" of {place(change, root)}"
        yield from _code(change, f"change this line{other}", paint, "good")
    elif site is None:
        yield "  (no line of your own code led to it)"
    rows = [
        ("parameters", listed(finding["parameters"])),
        ("modules", listed(finding["modules"])),
        ("figures", "; ".join(f"{k}: {figure(v)}" for k, v in finding["figures"].items())),
    ]
    said = finding["code"], finding["fix"]
    if said not in known:
        known.add(said)
        rows.append(("why", finding["why"]))
        rows.append(("how sure", finding["sure"] if finding["refute"] else ""))
        rows.append(("unless", finding["refute"]))
    for title, text in rows:
        if text:
            start = f"  {title + ':':<12}"
            lines = textwrap.wrap(
                text, width, initial_indent=start, subsequent_indent=" " * len(start)
            )
            yield paint(start, "quiet") + lines[0][len(start) :]
            yield from lines[1:]
    if finding["fix"]:
        first, *more = finding["fix"].strip("\n").split("\n")
        yield paint(f"  {'fix:':<12}", "quiet") + paint(first, "good")
        yield from (" " * 14 + paint(line, "good") for line in more)


def _where(site: Plain | None) -> tuple[str, int] | None:
    return None if site is None else (site["file"], site["line"])


def _code(site: Plain | None, mark: str, paint: Paint, kind: str) -> Iterator[str]:
    """The line of code, pointed at."""
    if site is None or not site["text"]:
        return
    number = f"{site['line']:>6}"
    bar = paint("|", "quiet")
    yield f"  {paint(number, 'quiet')} {bar} {site['text']}"
    under = "^" * min(len(site["text"].partition("#")[0].rstrip()) or 1, 60)
    yield f"  {' ' * len(number)} {bar} {paint(f'{under} {mark}', kind)}"


def _summary(report: Plain, paint: Paint, root: str | None) -> Iterator[str]:
    rows = [
        [
            finding["code"],
            finding["name"],
            finding["severity"],
            str(finding["step"]),
            f"{finding['count']:,}",
            place(finding["site"], root),
        ]
        for finding in report["findings"]
    ]
    headers = ["code", "name", "severity", "step", "times", "line"]
    header, *lines = text_table(headers, rows, right=(3, 4)).split("\n")
    yield paint(header, "quiet")
    for finding, line in zip(report["findings"], lines, strict=True):
        code = finding["code"]
        yield paint(code, _KINDS[finding["severity"]]) + line.removeprefix(code)
