"""The errors for a refused file, and quoting from it: short, and in plain characters."""

from __future__ import annotations

import pickle

QUOTED = 80  # characters of a file's own words in a message


class UnsafeFile(pickle.UnpicklingError):
    """A file asks for something no file may: to run something, to change something, or too much."""


class DamagedFile(Exception):
    """A file that violates its format; `read` turns it into a RuntimeError."""


def shown(text: object, most: int = QUOTED) -> str:
    """Text from a file as it may appear in a message: truncated, and without control characters."""
    if type(text) is not str:
        return f"a {type(text).__name__}"
    cut = text if len(text) <= most else text[:most] + "..."
    return cut if cut.isascii() and cut.isprintable() else ascii(cut)[1:-1]
