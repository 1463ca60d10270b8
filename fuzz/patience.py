"""How long to wait for a process that may be stuck: one that hardly gets the processor is given more time.

A limit says what is allowed on a machine with nothing else to do. On a busy one a process is stuck if it has
worked for half of that time and is not done, or if nothing has come of several times that time.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

STARVED = 4  # times the limit that a process has which hardly gets the processor


def worked(process: int) -> float:
    """The processor's seconds that a process has had; for ever, where nobody says."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return time.monotonic()


class Patience:
    """The time that a process has for one thing, from now on."""

    def __init__(self, process: int, limit: float) -> None:
        self._process, self._limit = process, limit
        self._since, self._worked = time.monotonic(), worked(process)

    def is_over(self) -> bool:
        """Whether it should have been done by now."""
        passed = time.monotonic() - self._since
        if passed <= self._limit:
            return False
        return (
            passed > STARVED * self._limit or worked(self._process) - self._worked > self._limit / 2
        )
