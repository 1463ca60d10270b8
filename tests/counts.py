"""Counts that tests keep in their reports, wherever they ran, added up when the run ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest


def counter(request: pytest.FixtureRequest, subject: str) -> Callable[..., None]:
    """A function that adds to a count of a subject: `add("comparisons")`."""

    def add(what: str, by: int = 1) -> None:
        request.node.user_properties.append((subject, (what, by)))

    return add


def totals(terminalreporter: Any, subject: str) -> Counter[str]:
    """All counts of a subject."""
    found: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                for key, value in report.user_properties:
                    if key == subject:
                        found[value[0]] += value[1]
    return found
