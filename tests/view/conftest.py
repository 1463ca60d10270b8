"""Tests in a browser are collected only where there is one; where not, the end of the run says so."""

from __future__ import annotations

import pytest

from .browser import NAMES, chromium

collect_ignore = [] if chromium() else ["test_browser.py"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if collect_ignore:
        names = ", ".join(NAMES)
        terminalreporter.write_line(
            f"tests/view/test_browser.py was not collected: no Chromium found ({names}; or set CHROMIUM)"
        )
