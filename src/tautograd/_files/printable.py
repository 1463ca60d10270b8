"""Text from elsewhere (names, lines of code, files) as text that does nothing but be read."""

from __future__ import annotations

import unicodedata


def printable(text: str, *, lines: bool = False) -> str:
    """`text` with what a terminal would obey, or a reader could not see, written as an escape.

    Control characters, marks that change the direction of text, invisible ones and halves of
    characters are shown as Python writes them: `\\x1b`, `\\u202e`, `\\udcff`. With `lines`, new lines
    and tabs stay.
    """
    text = str.__str__(text)  # of a class of somebody else's only the characters count
    if text.isprintable():
        return text
    if lines:
        rows = text.split("\n")
        return "\n".join("\t".join(map(printable, row.split("\t"))) for row in rows)
    return "".join(c if is_harmless(c) else _escape(c) for c in text)


def utf8(text: str) -> bytes:
    """Text for a file; halves of characters, which UTF-8 does not have, are written as escapes.

    In JSON such an escape is the half of a character again.
    """
    return text.encode("utf-8", "backslashreplace")


def is_harmless(character: str) -> bool:
    """Whether a character is seen for what it is, and nothing is done by it."""
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _escape(character: str) -> str:
    return repr(character)[1:-1]  # what Python does not print; no codec has to be imported for it
