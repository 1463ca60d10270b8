"""How a file is refused, and how what it says is quoted: short, and as plain characters."""

from __future__ import annotations

import pickle

QUOTED = 80  # characters of a file's own words in a message


class UnsafeFile(pickle.UnpicklingError):
    """A file asks for what no file may: to run something, to change something, or too much."""


class DamagedFile(Exception):
    """A file that is not what its format says; `read` makes a RuntimeError of it."""


def shown(text: object, most: int = QUOTED) -> str:
    """Text from a file as a message may have it: cut, and without control characters."""
    if type(text) is not str:
        return f"a {type(text).__name__}"
    cut = text if len(text) <= most else text[:most] + "..."
    return cut if cut.isascii() and cut.isprintable() else ascii(cut)[1:-1]
