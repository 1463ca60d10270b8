"""A run's history as named series of numbers, and its findings as text: what other programs are given."""

from __future__ import annotations

from collections.abc import Iterator

from tautograd._files.printable import printable

from ..._report.wording import place
from .report import Plain

TABLES = (("gradient norm", "norms"), ("update to weight", "ratios"))


def series_of(report: Plain) -> Iterator[tuple[str, list[tuple[int, float]]]]:
    """`loss`, `gradient norm/0.weight` and so on: steps and values, of those that were measured.

    NaN and infinity are values, and among them.
    """
    history = report["history"] or {"steps": [], "losses": [], "norms": {}, "ratios": {}}
    steps = history["steps"]
    named = [("loss", history["losses"])]
    named += [
        (f"{title}/{printable(name)}", values)
        for title, table in TABLES
        for name, values in history[table].items()
    ]
    for name, values in named:
        yield name, [(s, v) for s, v in zip(steps, values, strict=True) if v is not None]


def findings_of(report: Plain, root: str | None) -> Iterator[tuple[int, str]]:
    """Step and text of each, as Markdown."""
    for finding in report["findings"]:
        text = f"**{finding['code']} {finding['name']}** ({place(finding['site'], root)})\n\n"
        yield finding["step"], printable(text + finding["message"], lines=True)
