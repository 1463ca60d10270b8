"""The results of `taut verify`: a report, or a summary of several; as text, JSON or a page."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import dataclass
from typing import Any

from tautograd._cli.delivery import Delivery, say_on
from tautograd._files.printable import printable
from tautograd._files.terminal import say


@dataclass
class Result:
    """The result for one target."""

    target: str
    status: str
    report: Any = None
    error: str = ""
    evidence: str | None = None
    unsaved: str = ""
    """Which evidence could not be written, and why."""
    since: str = ""
    """When it was verified, if nothing has changed since and it was not verified again."""
    where: str = ""
    """Where it went wrong at that time."""
    text: str = ""
    """The report from that time, if it went wrong."""

    @property
    def verdict(self) -> str:
        """The status, and whether it comes from an earlier run."""
        return f"{self.status}, unchanged" if self.since else self.status

    def to_dict(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "status": self.status,
            "error": self.error or None,
            "evidence": self.evidence,
            "unchanged_since": self.since or None,
            "report": None if self.report is None else self.report.to_dict(),
        }


def show(namespace: argparse.Namespace, results: list[Result], *, alone: bool) -> bool:
    """Print and write the requested outputs; returns False if some could not be written."""
    from tautograd._cli.verify.proof import add_summary, write_badge
    from tautograd._files.destinations import PAGE
    from tautograd._verify.report.render_html import page_of

    delivery = Delivery(namespace.root)
    with delivery.part("printing the report"):
        _print(namespace, results, alone=alone)
    for result in results:
        if result.unsaved:
            delivery.failed = delivery.is_lost = True
            say_on(f"taut: no evidence could be written: {result.unsaved}")
    if namespace.summary is not None:
        with delivery.part("adding the summary"):
            add_summary(os.path.join(namespace.root, namespace.summary), results)
    if namespace.badge is not None:
        with delivery.part("writing the badge"):
            path = os.path.join(namespace.root, namespace.badge)
            write_badge(path, results, force=namespace.force)
    if namespace.html is not None:
        reports = [result.report.to_dict() for result in results if result.report is not None]
        # Existing files were checked before; only --force allows them.
        delivery.file(
            os.path.join(namespace.root, namespace.html),
            lambda: page_of(reports),
            PAGE,
            force=namespace.force,
        )
        if not namespace.quiet:
            for path in delivery.written:
                say_on(f"written: {path}")
    if delivery.is_lost and namespace.quiet:
        namespace.quiet = False
        with delivery.part("printing the report"):
            _print(namespace, results, alone=alone)
    return not delivery.failed


def _print(namespace: argparse.Namespace, results: list[Result], *, alone: bool) -> None:
    from tautograd._report.colour import Paint, wants_colour
    from tautograd._verify.report.render_text import as_text

    reports = [result.report for result in results if result.report is not None]
    if namespace.json:
        say(json.dumps({"results": [result.to_dict() for result in results]}, indent=2))
        return
    if namespace.quiet:
        return
    colour = wants_colour()
    for result in results:
        if result.since and result.text:
            say(f"{printable(result.text, lines=True)}\n")
    if alone and results[0].since:
        say(
            f"{printable(results[0].target)}: {results[0].status}, unchanged since {results[0].since}"
        )
        return
    if alone:
        say(as_text(results[0].report, colour=colour))
        if results[0].evidence is not None:
            say(f"\nevidence: {printable(results[0].evidence)}")
        return
    for report in reports:
        if not report.ok:
            say(as_text(report, colour=colour), end="\n\n")
    _summary(results, Paint(colour))


def _summary(results: list[Result], paint: Any) -> None:
    from tautograd._report.tables import text_table
    from tautograd._report.wording import tallied

    rows = [[printable(result.target), _worst(result), result.verdict] for result in results]
    header, *lines = text_table(["target", "worst gap of its tolerance", "verdict"], rows).split(
        "\n"
    )
    say(paint(header, "quiet"))
    for result, line in zip(results, lines, strict=True):
        kind = {"correct": "good", "no inputs": "quiet"}.get(result.status, "bad")
        say(line.removesuffix(result.verdict) + paint(result.verdict, kind))
        if result.error and result.status == "could not run":
            say(f"  {printable(result.error, lines=True)}")
    without = next((r.target for r in results if r.status == "no inputs"), None)
    if without is not None:
        name = printable(without.rpartition(":")[2])
        say(
            f"Inputs: --inputs or --inputs-from says them for all; or write them beside each, as "
            f"'def {name}_inputs(): return (torch.randn(3, 4),)'."
        )
    order = ["correct", "wrong", "cut", "unclear", "could not run", "no inputs"]
    say(tallied([result.status for result in results], order))


def _worst(result: Result) -> str:
    if result.report is None:
        return ""
    gaps = [check.worst for check in result.report.checks if check.entries]
    return f"{max(gaps):.2g}" if gaps else ""
