"""A line of code, and where in the user's code something happened.

The engine records a `Mark`: a code object and an instruction. Taking it costs a fraction of a
microsecond and keeps no frame (and so none of the user's variables) alive; the file and line are
resolved lazily.
"""

from __future__ import annotations

import sys
import traceback
from types import CodeType, FrameType
from typing import Any, NamedTuple

from .owners import Owner, internal, is_internal, owners
from .source_lines import line_of

Mark = tuple[CodeType, int]

_getframe = sys._getframe


class Site(NamedTuple):
    """A line of code."""

    file: str
    line: int
    function: str = ""

    @property
    def text(self) -> str:
        """The source text of the line; empty if it cannot be read."""
        return line_of(self.file, self.line).strip()

    @property
    def place(self) -> str:
        """`train.py:12`, in a form that editors can open."""
        return f"{self.file}:{self.line}"

    @property
    def in_a_line(self) -> str:
        """`train.py:12 in forward: y = f(x)`."""
        inside = f" in {self.function}" if self.function not in ("", "<module>") else ""
        return f"{self.place}{inside}" + (f": {text}" if (text := self.text) else "")

    def __str__(self) -> str:
        """In the format of a traceback."""
        where = f'File "{self.file}", line {self.line}'
        where += f", in {self.function}" if self.function else ""
        return f"{where}\n    {text}" if (text := self.text) else where

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {**self._asdict(), "text": self.text}


def site_at(frame: FrameType) -> Site:
    """The line that a frame is at."""
    code = frame.f_code
    return Site(code.co_filename, frame.f_lineno or code.co_firstlineno, code.co_name)


def definition_of(function: Any) -> Site | None:
    """Where a function is defined; None for one that is not Python's."""
    code = getattr(function, "__code__", None)
    return None if code is None else Site(code.co_filename, code.co_firstlineno, code.co_name)


def mark(depth: int = 1) -> Mark:
    """The innermost frame outside the engine, `depth` or more calls above the caller."""
    frame: FrameType | None = _getframe(depth + 1)
    while frame is not None and is_internal(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:  # only frames of this package: `python -m tautograd…`
        frame = _getframe(depth + 1)
    return frame.f_code, frame.f_lasti


def resolve(found: Mark | None) -> Site | None:
    """The file and line behind a mark."""
    if found is None:
        return None
    code, instruction = found
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= instruction < end and number is not None:
            line = number
            break
    return Site(code.co_filename, line, code.co_name)


def warning_level() -> int:
    """The `stacklevel` that makes a warning by the caller point to the user's code."""
    level = 1
    frame: FrameType | None = _getframe(1)
    while frame is not None and internal[frame.f_code.co_filename]:
        level += 1
        frame = frame.f_back
    return level


def raised_at(error: BaseException) -> Site | None:
    """The innermost line of user code that an error passed through; a library's only if there is none."""
    users: Site | None = None
    others: Site | None = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        code = frame.f_code
        owner = owners[code.co_filename]
        if owner is Owner.USERS:
            users = Site(code.co_filename, line, code.co_name)
        elif owner < Owner.ENGINE:
            others = Site(code.co_filename, line, code.co_name)
    return users or others
