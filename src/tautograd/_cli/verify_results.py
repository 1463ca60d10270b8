"""What came of `taut verify`: a report, or a summary of several; as text, JSON or a page."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import dataclass
from typing import Any

from tautograd._files.printable import printable


@dataclass
class Result:
    """What came of one target."""

    target: str
    status: str
    report: Any = None
    error: str = ""
    evidence: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "status": self.status,
            "error": self.error or None,
            "evidence": self.evidence,
            "report": None if self.report is None else self.report.to_dict(),
        }


def show(namespace: argparse.Namespace, results: list[Result], *, alone: bool) -> None:
    """Print and write what the command line asks for."""
    from tautograd._files.atomic import replacing
    from tautograd._verify.render_html import page_of
    from tautograd._verify.render_text import Paint, as_text, wants_colour

    reports = [result.report for result in results if result.report is not None]
    if namespace.html is not None:
        with replacing(namespace.html) as file:
            file.write(page_of([report.to_dict() for report in reports]).encode())
        if not namespace.quiet:
            print(f"written: {printable(os.path.relpath(namespace.html))}", file=sys.stderr)
    if namespace.json:
        print(json.dumps({"results": [result.to_dict() for result in results]}, indent=2))
        return
    if namespace.quiet:
        return
    colour = wants_colour()
    if alone:
        print(as_text(results[0].report, colour=colour))
        if results[0].evidence is not None:
            print(f"\nevidence: {printable(results[0].evidence)}")
        return
    for report in reports:
        if not report.ok:
            print(as_text(report, colour=colour), end="\n\n")
    _summary(results, Paint(colour))


def _summary(results: list[Result], paint: Any) -> None:
    from tautograd._verify.tables import counted, text_table

    rows = [[printable(result.target), _worst(result), result.status] for result in results]
    header, *lines = text_table(["target", "worst gap of its tolerance", "verdict"], rows).split(
        "\n"
    )
    print(paint(header, "quiet"))
    for result, line in zip(results, lines, strict=True):
        kind = {"correct": "good", "no inputs": "quiet"}.get(result.status, "bad")
        print(line.removesuffix(result.status) + paint(result.status, kind))
        if result.error and result.status == "could not run":
            print(f"  {printable(result.error, lines=True)}")
    without = next((r.target for r in results if r.status == "no inputs"), None)
    if without is not None:
        name = printable(without.rpartition(":")[2])
        print(
            f"Inputs: --inputs or --inputs-from says them for all; or write them beside each, as "
            f"'def {name}_inputs(): return (torch.randn(3, 4),)'."
        )
    order = ["correct", "wrong", "cut", "unclear", "could not run", "no inputs"]
    print(counted([result.status for result in results], order))


def _worst(result: Result) -> str:
    if result.report is None:
        return ""
    gaps = [check.worst for check in result.report.checks if check.entries]
    return f"{max(gaps):.2g}" if gaps else ""
