"""The trust kit speaks to both engines: `torch` is PyTorch and then tautograd in every test.

What tests count (gradients caught, located, accused) is printed at the end of the run.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

from tests.both import ENGINES
from tests.counts import counter, totals


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

    return counter(request, "verified")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    found = totals(terminalreporter, "verified")
    if not found:
        return
    terminalreporter.section("gradients verified")
    if wrong := found["wrong gradients"]:
        caught = found["wrong gradients caught"]
        located = found["wrong gradients located to operation and line"]
        terminalreporter.write_line(
            f"{caught:,} of {wrong:,} wrong gradients caught, {located:,} located to operation and line"
        )
    if right := found["right gradients"]:
        accused = found["right gradients accused"]
        terminalreporter.write_line(f"{accused:,} of {right:,} right gradients accused")
    for what, many in found.items():
        if not what.startswith(("wrong gradients", "right gradients")):
            terminalreporter.write_line(f"{many:8,} {what}")
