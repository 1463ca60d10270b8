"""Where in the user's code something happened: a code object and an instruction, resolved late.

Taking a `(code, instruction)` pair costs a fraction of a microsecond and keeps no frame (and so
none of the user's variables) alive; the file and line are worked out only if someone asks.
"""

from __future__ import annotations

import linecache
import os
import sys
from types import CodeType, FrameType
from typing import NamedTuple

import numpy as np

Mark = tuple[CodeType, int]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


# Array operators of our own types go through a class of NumPy's.
_INNER = (_PACKAGE, os.path.dirname(os.path.abspath(np.__file__)) + os.sep)


class _Internal(dict[str, bool]):
    """File name -> whether it is part of this package (or of NumPy, which it calls), remembered."""

    def __missing__(self, filename: str) -> bool:
        result = self[filename] = os.path.abspath(filename).startswith(_INNER)
        return result


internal = _Internal()
_getframe = sys._getframe


def mark(depth: int = 1) -> Mark:
    """The innermost frame outside this package, `depth` or more calls above the caller."""
    frame: FrameType | None = _getframe(depth + 1)
    while frame is not None and internal[frame.f_code.co_filename]:
        frame = frame.f_back
    if frame is None:  # only frames of this package: `python -m tautograd…`
        frame = _getframe(depth + 1)
    return frame.f_code, frame.f_lasti


def warning_level() -> int:
    """The `stacklevel` that makes a warning of the caller point to the user's code."""
    level = 1
    frame: FrameType | None = _getframe(1)
    while frame is not None and internal[frame.f_code.co_filename]:
        level += 1
        frame = frame.f_back
    return level


class Site(NamedTuple):
    """A line of user code."""

    filename: str
    line: int
    function: str
    text: str

    def __str__(self) -> str:
        where = f'File "{self.filename}", line {self.line}, in {self.function}'
        return f"{where}\n    {self.text}" if self.text else where


def resolve(found: Mark | None) -> Site | None:
    """The file, line and text behind a mark."""
    if found is None:
        return None
    code, instruction = found
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= instruction < end and number is not None:
            line = number
            break
    text = linecache.getline(code.co_filename, line).strip()
    return Site(code.co_filename, line, code.co_name, text)
