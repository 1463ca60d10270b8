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


def state(process: int) -> str:
    """What a process is at, and where in the system, in the words of /proc."""
    found = []
    for name in ("stat", "wchan"):
        try:
            found.append(Path(f"/proc/{process}/{name}").read_text().rpartition(")")[2].split()[0])
        except (OSError, IndexError):
            found.append("?")
    return " ".join(found)


class Patience:
    """The time that a process has for one thing, from now on.

    Time that it waits for the disk does not count: the system lets nothing interrupt that.
    """

    def __init__(self, process: int, limit: float) -> None:
        self._process, self._limit = process, limit
        self._since, self._worked = time.monotonic(), worked(process)
        self._looked = self._since

    def is_over(self) -> bool:
        """Whether it should have been done by now."""
        now = time.monotonic()
        passed = now - self._since
        if passed <= self._limit:
            self._looked = now
            return False
        if state(self._process).startswith("D"):
            self._since += now - self._looked
        self._looked = now
        return (
            passed > STARVED * self._limit or worked(self._process) - self._worked > self._limit / 2
        )

    def __str__(self) -> str:
        passed = time.monotonic() - self._since
        spent = worked(self._process) - self._worked
        return f"{passed:.1f} s, {spent:.2f} s of the processor, {state(self._process)}"
