"""Counts what the record-driven tests did and prints it at the end of the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`tally("comparisons")` adds one to a count that the run prints."""

    def add(what: str, count: int = 1) -> None:
        request.node.user_properties.append(("tally", (what, count)))

    return add


def pytest_terminal_summary(terminalreporter: Any) -> None:
    totals: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                for key, value in report.user_properties:
                    if key == "tally":
                        totals[value[0]] += value[1]
    if totals:
        terminalreporter.section("operation records")
        for what, count in sorted(totals.items()):
            # "… caught" is told of how many.
            whole = totals.get(what.removesuffix(" caught"))
            of = f" of {whole:,}" if what.endswith(" caught") and whole is not None else ""
            if f"{what} caught" not in totals:
                terminalreporter.write_line(f"{count:8,}{of} {what}")
