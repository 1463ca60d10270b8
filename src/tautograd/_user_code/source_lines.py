"""The lines of a file of code, as `linecache` has them: of a regular file, or of what somebody has put there.

`linecache` opens whatever a code object says that it is from. A script may have come through a pipe, which would be
waited for once more, or be a device, which gives for ever.
"""

from __future__ import annotations

import linecache
import os
import stat


def lines_of(file: str) -> list[str]:
    """All lines of a file; none where they cannot be read."""
    refuse_devices(file)
    return linecache.getlines(file)


def line_of(file: str, number: int) -> str:
    """One line of a file, empty where it cannot be read."""
    refuse_devices(file)
    return linecache.getline(file, number)


def refuse_devices(file: str) -> None:
    """Before anything opens a file of code by its name, as `inspect` does: what is no regular file has no lines."""
    if file not in linecache.cache and not is_regular_or_absent(file):
        keep_lines(file, "")


def keep_lines(file: str, text: str) -> None:
    """Let these be the lines of a file, which is not looked at again."""
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file


def is_regular_or_absent(file: str) -> bool:
    """Whether opening a file neither waits nor goes on for ever."""
    try:
        mode = os.stat(file).st_mode
    except (OSError, ValueError):
        return True
    return stat.S_ISREG(mode)
