"""Tests in a browser are collected only where there is one; where not, the end of the run says so."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from .browser import NAMES, Browser, chromium
from .firefox import firefox

IN_A_BROWSER = ["test_browser.py", "test_drawing_browser.py", "test_touch_browser.py"]
collect_ignore = [] if chromium() else [*IN_A_BROWSER]
if not firefox():
    collect_ignore.append("test_firefox.py")
if not chromium() and not firefox():
    collect_ignore.append("test_every_page_browser.py")
if not chromium() or "AXE" not in os.environ:
    collect_ignore.append("test_axe.py")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not collect_ignore:
        return
    missing = [] if chromium() else [f"Chromium ({', '.join(NAMES)}; or set CHROMIUM)"]
    missing += [] if firefox() else ["Firefox (or set FIREFOX)"]
    missing += [] if "AXE" in os.environ else ["axe-core (set AXE to its axe.min.js)"]
    terminalreporter.write_line(
        f"tests/view: {', '.join(collect_ignore)} not collected: no {', no '.join(missing)}"
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, one for all tests of a file."""
    executable = chromium()
    assert executable is not None
    made = Browser(executable)
    yield made
    made.close()
