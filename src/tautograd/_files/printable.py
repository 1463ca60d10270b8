"""Text from elsewhere, as a terminal may be given it: what would steer it is shown, not obeyed.

Names, lines of source and files can hold escape sequences, characters that reorder or hide what
stands beside them, and halves of characters that no stream can encode. Each is written out as
Python would write it in a literal (`\\x1b`, `\\u202e`); everything else stays as it is.
"""

from __future__ import annotations

import unicodedata

_STEERS = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of Unicode: controls, formats (bidirectional, zero-width, tags), surrogates, no character."""

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str, *, lines: bool = False) -> str:
    """The text with what is not to be printed escaped; `lines` keeps line feeds and tabs."""
    if text.isascii() and text.isprintable():
        return text
    kept = "\n\t" if lines else ""
    return "".join(
        char if char in kept or unicodedata.category(char) not in _STEERS else _escaped(char)
        for char in text
    )


def _escaped(char: str) -> str:
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )
