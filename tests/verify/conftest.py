"""The trust kit speaks to both engines: `torch` is PyTorch and then tautograd in every test.

What tests count (gradients caught, located, accused) is printed at the end of the run.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.both import ENGINES


@pytest.fixture(params=ENGINES)
def torch(request):
    """An engine, seeded."""
    engine = importlib.import_module(request.param)
    importlib.import_module(f"{request.param}.nn")
    engine.manual_seed(0)
    return engine


@pytest.fixture
def count(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`count("wrong gradients caught")` adds one to what the run prints."""

    def add(what: str, by: int = 1) -> None:
        request.node.user_properties.append(("verified", (what, by)))

    return add


def pytest_terminal_summary(terminalreporter: Any) -> None:
    totals: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                for key, value in report.user_properties:
                    if key == "verified":
                        totals[value[0]] += value[1]
    if not totals:
        return
    terminalreporter.section("gradients verified")
    if wrong := totals["wrong gradients"]:
        caught = totals["wrong gradients caught"]
        located = totals["wrong gradients located to operation and line"]
        terminalreporter.write_line(
            f"{caught:,} of {wrong:,} wrong gradients caught, {located:,} located to operation and line"
        )
    if right := totals["right gradients"]:
        accused = totals["right gradients accused"]
        terminalreporter.write_line(f"{accused:,} of {right:,} right gradients accused")
    for what, many in totals.items():
        if not what.startswith(("wrong gradients", "right gradients")):
            terminalreporter.write_line(f"{many:8,} {what}")
