"""A progress bar on a terminal; elsewhere silence (or a line for each item)."""

from __future__ import annotations

import io
import os
import shutil
import sys
from typing import IO

from tautograd._files.printable import printable
from tautograd._files.terminal import encodable, say

_WIDTH = 24


class Progress:
    """Draws a bar when called with the current step and the fraction done, from 0 to 1."""

    def __init__(self, stream: IO[str] | None = None, *, quiet: bool = False) -> None:
        self._stream = sys.stderr if stream is None else stream
        if self._stream is None:  # a process without a stderr
            quiet, self._stream = True, io.StringIO()
        self._live = self._stream.isatty() and os.environ.get("TERM") != "dumb" and not quiet
        self._quiet = quiet
        self._title = ""

    def begin(self, title: str, number: int, total: int) -> None:
        """Start the next of several items."""
        self._title = f"{number}/{total} {title}: " if total > 1 else f"{title}: "
        if not self._live and total > 1 and not self._quiet:
            say(f"{number}/{total} {title}", self._stream)

    def __call__(self, what: str, part: float) -> None:
        if not self._live:
            return
        done = round(_WIDTH * min(max(part, 0.0), 1.0))
        bar = "█" * done + "░" * (_WIDTH - done)
        line = f"{bar} {part:4.0%}  {self._title}{what}"
        width = shutil.get_terminal_size().columns - 1
        self._stream.write("\r\x1b[2K" + encodable(printable(line)[:width], self._stream))
        self._stream.flush()

    def clear(self) -> None:
        """Clear the line for whatever is printed next."""
        if self._live:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()


class Saying:
    """For work announced beforehand: the title on a line of its own, then a bar."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._bar, self._quiet, self._begun = Progress(quiet=quiet), quiet, False

    def __call__(self, what: str, part: float) -> None:
        if not self._begun:
            self._begun = True
            if not self._quiet:
                say(what, sys.stderr)
            return
        self._bar(what, part)
        if part >= 1.0:
            self._bar.clear()
