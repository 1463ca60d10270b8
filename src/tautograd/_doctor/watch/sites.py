"""Lines of the user's code: the innermost frame that belongs to neither an engine nor Python."""

from __future__ import annotations

import linecache
import os
import re
import sys
import sysconfig
from types import CodeType, FrameType
from typing import NamedTuple

_HERE = os.path.abspath(os.path.join(os.path.dirname(__file__), *(os.pardir,) * 2)) + os.sep
_STANDARD = os.path.realpath(sysconfig.get_paths()["stdlib"]) + os.sep
# The engine, and loops that are other people's: the line that called them is the user's.
_LOOPS = tuple(
    f"{os.sep}site-packages{os.sep}{name}{os.sep}"
    for name in ("torch", "lightning", "pytorch_lightning", "lightning_fabric", "transformers", "accelerate")
)  # fmt: skip


class Site(NamedTuple):
    """A line of code."""

    file: str
    line: int
    function: str = ""

    @property
    def text(self) -> str:
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class _Foreign(dict[str, bool]):
    """File name -> whether it is an engine's, the kit's or Python's own; remembered."""

    def __missing__(self, file: str) -> bool:
        path = os.path.realpath(file)
        found = (
            path.startswith(_HERE)
            or (path.startswith(_STANDARD) and "site-packages" not in path)
            or any(loop in path for loop in _LOOPS)
            or file.startswith("<frozen")
        )
        self[file] = found
        return found


foreign = _Foreign()
_known: dict[tuple[int, int], tuple[CodeType, Site]] = {}  # code and instruction -> its line
_MANY = 50_000


def user_site(depth: int = 0) -> Site | None:
    """The innermost line of user code that led here; `depth` frames are skipped.

    The same instruction gives the same object, which stays: its `id` stands for the place.
    """
    return site_of(sys._getframe(depth + 1))


def site_of(frame: FrameType | None) -> Site | None:
    """The innermost line of user code that led to a frame, its own included."""
    while frame is not None:
        code = frame.f_code
        key = id(code), frame.f_lasti
        known = _known.get(key)
        if known is not None:
            return known[1]
        if not foreign[code.co_filename]:
            site = Site(code.co_filename, frame.f_lineno, code.co_name)
            if len(_known) < _MANY:  # the code is kept, so that its id is never another's
                _known[key] = code, site
            return site
        frame = frame.f_back
    return None


def innermost(frame: FrameType | None) -> tuple[FrameType | None, int]:
    """The innermost frame of user code that led to a frame, its own included; how many it is up."""
    depth = 0
    while frame is not None and foreign[frame.f_code.co_filename]:
        frame, depth = frame.f_back, depth + 1
    return frame, depth


def is_known(frame: FrameType) -> bool:
    """Whether a frame is at a line of user code that has been seen, and is kept."""
    return (id(frame.f_code), frame.f_lasti) in _known


def user_stack(depth: int = 0, limit: int = 8) -> list[Site]:
    """The lines of user code that led here, innermost first."""
    frame: FrameType | None = sys._getframe(depth + 1)
    found: list[Site] = []
    while frame is not None and len(found) < limit:
        code = frame.f_code
        if not foreign[code.co_filename]:
            found.append(Site(code.co_filename, frame.f_lineno, code.co_name))
        frame = frame.f_back
    return found


def line_like(pattern: str, frames: int = 3) -> Site | None:
    """A line that looks so, of the user's functions that are running now or that these call, the
    innermost first."""
    running = user_frames(frames)
    called = [code for frame in running for code in _called(frame)]
    for code in [frame.f_code for frame in running] + called:
        lines = sorted({n for _, _, n in code.co_lines() if n is not None})
        for line in lines:
            if re.search(pattern, linecache.getline(code.co_filename, line)):
                return Site(code.co_filename, line, code.co_name)
    return None


def _called(frame: FrameType) -> list[CodeType]:
    """The user's functions whose names are in a function that is running."""
    code = frame.f_code
    given = (getattr(frame.f_globals.get(name), "__code__", None) for name in code.co_names)
    inside = [one for one in code.co_consts if isinstance(one, CodeType)]
    found = [one for one in given if isinstance(one, CodeType)] + inside
    return [one for one in found if not foreign[one.co_filename]]


def user_frames(limit: int = 8) -> list[FrameType]:
    """The frames of user code that led here, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    found: list[FrameType] = []
    while frame is not None and len(found) < limit:
        if not foreign[frame.f_code.co_filename]:
            found.append(frame)
        frame = frame.f_back
    return found
