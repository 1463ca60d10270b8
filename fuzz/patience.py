"""How long to wait for a process that may hang: one that gets little processor time is given longer.

A limit applies to a machine with nothing else to do. On a busy one a process counts as hung if it has
used half of that as processor time without finishing, or if several times that time has passed.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

STARVED = 4  # times the limit, for a process that is starved of processor time


def worked(process: int) -> float:
    """A process's processor time in seconds; the clock's, if it is unknown."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return time.monotonic()


def state(process: int) -> str:
    """What a process is doing, and where in the kernel, in the words of /proc."""
    found = []
    for name in ("stat", "wchan"):
        try:
            found.append(Path(f"/proc/{process}/{name}").read_text().rpartition(")")[2].split()[0])
        except (OSError, IndexError):
            found.append("?")
    return " ".join(found)


class Patience:
    """The time that a process has for one task, from now on.

    Time spent waiting for the disk does not count: such a wait cannot be interrupted.
    """

    def __init__(self, process: int, limit: float) -> None:
        self._process, self._limit = process, limit
        self._since, self._worked = time.monotonic(), worked(process)
        self._looked = self._since

    def is_over(self) -> bool:
        """Whether it should have finished by now."""
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
