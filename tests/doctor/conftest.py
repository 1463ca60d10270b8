"""What the doctor's tests count (mistakes found, lines named, sound loops accused) ends the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def count(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`count("mistakes found")` adds one to what the run prints."""

    def add(what: str, by: int = 1) -> None:
        request.node.user_properties.append(("diagnosed", (what, by)))

    return add


def pytest_terminal_summary(terminalreporter: Any) -> None:
    totals: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                for key, value in report.user_properties:
                    if key == "diagnosed":
                        totals[value[0]] += value[1]
    if not totals:
        return
    terminalreporter.section("training loops diagnosed")
    if mistakes := totals["mistakes"]:
        found, located = totals["mistakes found"], totals["mistakes located"]
        terminalreporter.write_line(
            f"{found:,} of {mistakes:,} mistakes found within 10 steps, {located:,} on their line"
        )
    for kind in ("reported mistakes", "reported mistakes, only counted"):
        if many := totals[kind]:
            terminalreporter.write_line(f"{totals[f'{kind} found']:,} of {many:,} {kind} found")
    for kind in ("corrections", "sound loops", "examples"):
        if many := totals[kind]:
            terminalreporter.write_line(f"{totals[f'{kind} accused']:,} of {many:,} {kind} accused")
