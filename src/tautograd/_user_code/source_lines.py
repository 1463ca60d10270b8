"""The lines of a source file, as `linecache` has them: from a regular file, or registered by someone.

`linecache` opens whatever path a code object names. A script may have come through a pipe, which would
block a second time, or be a device, which never ends.
"""

from __future__ import annotations

import linecache
import os
import stat


def lines_of(file: str) -> list[str]:
    """All lines of a file; empty if it cannot be read."""
    refuse_devices(file)
    return linecache.getlines(file)


def line_of(file: str, number: int) -> str:
    """One line of a file; empty if it cannot be read."""
    refuse_devices(file)
    return linecache.getline(file, number)


def refuse_devices(file: str) -> None:
    """Call before anything opens a source file by name, as `inspect` does; only regular files have lines."""
    if file not in linecache.cache and not is_regular_or_absent(file):
        keep_lines(file, "")


def keep_lines(file: str, text: str) -> None:
    """Register these as the lines of a file, which is not read again."""
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file


def is_regular_or_absent(file: str) -> bool:
    """Whether opening a file neither blocks nor reads endlessly."""
    try:
        mode = os.stat(file).st_mode
    except (OSError, ValueError):
        return True
    return stat.S_ISREG(mode)
