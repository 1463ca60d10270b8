"""All output: to a terminal, or wherever a stream leads, whatever the text contains.

Only our own colours reach a terminal unescaped, and only a terminal; anything else that a terminal would obey
is shown as text. If a stream cannot encode a character, it gets the nearest one it can.
"""

from __future__ import annotations

import re
import sys
from typing import IO

from .printable import printable

# What `Paint` (in `_report/colour.py`) puts around a text.
_COLOUR = re.compile(r"(\x1b\[(?:0|1|2|31|32|33)m)")
_PLAINER = str.maketrans(
    {
        "…": "...", "—": "-", "–": "-", "−": "-", "×": "x", "·": "*", "→": "->", "←": "<-",
        "↑": "^", "↓": "v", "≤": "<=", "≥": ">=", "≈": "~", "█": "#", "░": ".", "│": "|",
        "─": "-", "✂": "8<", "‘": "'", "’": "'", "“": '"', "”": '"', "∂": "d",
    }
)  # fmt: skip


def say(text: str = "", stream: IO[str] | None = None, *, end: str = "\n") -> None:
    """Print our own text and flush it; by default to stdout."""
    stream = sys.stdout if stream is None else stream
    if stream is None:  # None if the process started with descriptor 1 closed
        return
    stream.write(encodable(_shown(text, stream), stream) + end)
    stream.flush()


def warn(text: str = "", *, end: str = "\n") -> None:
    """`say` it on stderr."""
    if sys.stderr is not None:
        say(text, sys.stderr, end=end)


class Lines(str):
    """A message whose newlines are its own; names in it contain none."""


def line(text: str) -> str:
    """A message with foreign names, which can neither start a new line nor imitate our colours."""
    return printable(text, lines=isinstance(text, Lines))


def _shown(text: str, stream: IO[str]) -> str:
    if not stream.isatty():
        return printable(text, lines=True)
    parts = _COLOUR.split(text)  # text, colour, text, colour, …
    return "".join(
        part if number % 2 else printable(part, lines=True) for number, part in enumerate(parts)
    )


def encodable(text: str, stream: IO[str]) -> str:
    """`text`, as far as a stream's encoding can represent it."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except (LookupError, TypeError):  # a user-defined stream
        return text
    except UnicodeEncodeError:
        plainer = text.translate(_PLAINER)
        return plainer.encode(encoding, "backslashreplace").decode(encoding)
    return text
