"""What a doctor has to say: its plain form, from which text, JSON, SARIF and the page are made."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tautograd._version import __version__

from ..._user_code.sites import Site
from ..._user_code.source_lines import lines_of
from ..watch.compiled import NOTE
from .findings import SEVERITIES, Finding

if TYPE_CHECKING:
    from ..state.history import History

FORMAT = "tautograd doctor report"
AROUND = 3  # lines of code that are kept before and after the one that matters
Plain = dict[str, Any]


class Reporting:
    """The part of a doctor that speaks: `report()`, `show()`, `save()`."""

    findings: list[Finding]
    ignored: int
    steps: int
    watched: list[Any]
    stepped: dict[str, Any]
    ending: str = ""  # why the run ended before its end, if it did
    script: str = ""
    has_compiled: bool = False
    looked: int = -1  # steps that were looked at closely; -1: all
    backwards: int = 0  # that were looked at closely
    optimizers: Sequence[Any] = ()

    @property
    def history(self) -> History | None:
        """What was measured, step by step."""
        return None

    @property
    def troubles(self) -> list[BaseException]:
        """Mistakes of the doctor itself."""
        return []

    def to_dict(self) -> Plain:
        """All of it as plain values, which JSON can hold."""
        found: Plain = plain_numbers(plain(self))
        return found

    def report(self, *, colour: bool = False) -> str:
        """The findings as text, a summary and a verdict."""
        from .render_text import as_text

        return as_text(plain(self), colour=colour)

    def __str__(self) -> str:
        return self.report()

    def _repr_html_(self) -> str:
        """For a notebook: the page, whose verdict comes first."""
        from ..._report.browser import as_frame
        from .page import as_page

        return as_frame(as_page(plain(self)), "What the doctor says")

    def show(self, file: IO[str] | None = None) -> None:
        """Print the report, with colours on a terminal."""
        from tautograd._files.terminal import say

        from ..._report.colour import wants_colour

        stream = sys.stdout if file is None else file
        say(self.report(colour=wants_colour(stream)), stream)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report as JSON, SARIF or a page: `.json`, `.sarif` or `.html` says which.

        The file is there whole or not at all.
        """
        from tautograd._files.atomic import replacing
        from tautograd._files.printable import utf8

        text = as_file(plain(self), path)
        with replacing(path) as file:
            file.write(utf8(text))


def as_file(report: Plain, path: str | os.PathLike[str]) -> str:
    """The text of a file of this name."""
    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        return as_json(report)
    if suffix == ".sarif":
        from .sarif import as_sarif

        return as_sarif(report)
    if suffix in (".html", ".htm"):
        from .page import as_page

        return as_page(report)
    raise ValueError(
        f"a report is saved as .json, .sarif or .html, not as '{suffix}' ({os.fspath(path)})"
    )


def as_json(report: Plain) -> str:
    """JSON as the standard has it: NaN and infinity are the texts "nan" and "inf"; null is nothing."""
    return json.dumps(plain_numbers(report), indent=2, allow_nan=False, default=str) + "\n"


def plain(doctor: Reporting) -> Plain:
    """The plain form of what a doctor has seen; worst findings first, one code after the other."""
    findings = in_order(doctor.findings)
    if findings:
        verdict = "findings"
    else:
        verdict = "clean" if doctor.steps else "nothing seen"
    history = doctor.history
    return {
        "format": FORMAT,
        "version": 1,
        "tautograd": __version__,
        "verdict": verdict,
        "script": doctor.script,
        "engines": [engine_name(engine) for engine in doctor.stepped.values() or doctor.watched],
        "steps": doctor.steps,
        "looked": doctor.steps if doctor.looked < 0 else doctor.looked,
        "seen": {
            "backwards": doctor.backwards,
            "optimizers": len(doctor.optimizers),
            "imports": [] if doctor.watched else _imports(doctor.script),
        },
        "ending": doctor.ending,
        "ignored": doctor.ignored,
        "notes": [NOTE] if doctor.has_compiled else [],
        "troubles": [f"{type(error).__name__}: {error}" for error in doctor.troubles],
        "findings": [
            {**f.to_dict(), "site": _site(f.site), "fix_site": _site(f.fix_site)} for f in findings
        ],
        "history": None if history is None else history.to_dict(),
    }


def _imports(script: str) -> list[str]:
    """The engines that a script names in its imports, though nothing that trains was loaded."""
    text = "".join(lines_of(script)) if script.endswith(".py") else ""
    return [
        name
        for name in ("torch", "tautograd")
        if re.search(rf"^\s*(import|from)\s+{name}\b", text, re.MULTILINE)
    ]


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Worst first; those of one code stay together, in the order they were met."""
    findings = list(findings)
    first: dict[str, int] = {}
    for place, finding in enumerate(findings):
        first.setdefault(finding.code, place)
    return sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), first[f.code], f.step))


def engine_name(engine: Any) -> str:
    """'torch 2.13.0'."""
    return f"{engine.__name__} {engine.__version__}"


def _site(site: Site | None) -> Plain | None:
    """A line of code, with those around it where they can be read."""
    if site is None:
        return None
    lines = lines_of(site.file)
    start = max(site.line - AROUND, 1)
    around = [
        [number, lines[number - 1].rstrip("\r\n")]
        for number in range(start, min(site.line + AROUND, len(lines)) + 1)
    ]
    return {**site.to_dict(), "around": around}


def plain_numbers(value: Any) -> Any:
    """Numbers as JSON can hold them, all the way down."""
    if isinstance(value, dict):
        return {str(key): plain_numbers(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_numbers(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # "nan", "inf", "-inf": null would say that nothing was there
    return value
