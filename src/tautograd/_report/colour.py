"""Terminal colours: five kinds of text, and whether a stream supports them."""

from __future__ import annotations

import os
import sys
from typing import IO

_COLOURS = {"good": "32", "bad": "31", "doubt": "33", "title": "1", "quiet": "2"}


class Paint:
    """Colours for a terminal; a no-op for anything else."""

    def __init__(self, colour: bool) -> None:
        self._colour = colour

    def __call__(self, text: str, kind: str | None) -> str:
        if not self._colour or kind not in _COLOURS:
            return text
        return f"\x1b[{_COLOURS[kind]}m{text}\x1b[0m"


def wants_colour(stream: IO[str] | None = None) -> bool:
    """Whether a stream is a terminal whose user has not turned colours off."""
    stream = sys.stdout if stream is None else stream
    if stream is None:  # a process without a stdout
        return False
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
