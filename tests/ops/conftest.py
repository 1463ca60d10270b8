"""Counts what the record-driven tests did and prints it at the end of the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.counts import counter, totals


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`tally("comparisons")` adds one to a count that the run prints."""

    return counter(request, "tally")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    found = totals(terminalreporter, "tally")
    if found:
        terminalreporter.section("operation records")
        for what, count in sorted(found.items()):
            # "… caught" is told of how many.
            whole = found.get(what.removesuffix(" caught"))
            of = f" of {whole:,}" if what.endswith(" caught") and whole is not None else ""
            if f"{what} caught" not in found:
                terminalreporter.write_line(f"{count:8,}{of} {what}")
