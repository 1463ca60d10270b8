"""Making foreign text (names, lines of code, files) safe to print."""

from __future__ import annotations

import unicodedata


def printable(text: str, *, lines: bool = False) -> str:
    """`text` with everything a terminal would obey, or a reader could not see, escaped.

    Control characters, characters that change text direction, invisible ones and lone surrogates
    are shown as Python writes them: `\\x1b`, `\\u202e`, `\\udcff`. With `lines`, newlines
    and tabs are kept.
    """
    text = str.__str__(text)  # of a str subclass only the characters count
    if text.isprintable():
        return text
    if lines:
        rows = text.split("\n")
        return "\n".join("\t".join(map(printable, row.split("\t"))) for row in rows)
    return "".join(c if is_harmless(c) else _escape(c) for c in text)


def utf8(text: str) -> bytes:
    """Text encoded for a file; lone surrogates, which UTF-8 does not have, are escaped.

    In JSON such an escape is the surrogate again.
    """
    return text.encode("utf-8", "backslashreplace")


def is_harmless(character: str) -> bool:
    """Whether a character is visible as itself and has no effect."""
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _escape(character: str) -> str:
    return repr(character)[1:-1]  # what Python does not print; needs no codec to be imported
