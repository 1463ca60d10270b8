"""The program's lines on the stack, innermost first, without engines, kit, Python's own library
and training frameworks in between."""

from __future__ import annotations

import sys
from types import CodeType, FrameType

from .owners import Owner, foreign, owners
from .sites import Site, site_at

_known: dict[tuple[int, int], tuple[CodeType, Site]] = {}  # code and instruction -> its line
_MANY = 50_000


def user_site(depth: int = 0) -> Site | None:
    """The innermost line of the program that led here; `depth` frames are skipped.

    The same instruction gives the same object, which is kept alive: its `id` identifies the place.
    """
    return site_of(sys._getframe(depth + 1))


def site_of(frame: FrameType | None) -> Site | None:
    """The innermost line of the program that led to a frame, its own included."""
    while frame is not None:
        code = frame.f_code
        key = id(code), frame.f_lasti
        known = _known.get(key)
        if known is not None:
            return known[1]
        if not foreign[code.co_filename]:
            site = Site(code.co_filename, frame.f_lineno, code.co_name)
            if len(_known) < _MANY:  # the code is kept alive, so that its id is not reused
                _known[key] = code, site
            return site
        frame = frame.f_back
    return None


def innermost(frame: FrameType | None) -> tuple[FrameType | None, int]:
    """The innermost frame of the program at or above a frame, and how many levels up it is."""
    depth = 0
    while frame is not None and foreign[frame.f_code.co_filename]:
        frame, depth = frame.f_back, depth + 1
    return frame, depth


def is_known(frame: FrameType) -> bool:
    """Whether a frame is at a line of the program that is already cached."""
    return (id(frame.f_code), frame.f_lasti) in _known


def user_frames(limit: int = 8, depth: int = 0) -> list[FrameType]:
    """The frames of the program that led here, innermost first."""
    frame: FrameType | None = sys._getframe(depth + 1)
    found: list[FrameType] = []
    while frame is not None and len(found) < limit:
        if not foreign[frame.f_code.co_filename]:
            found.append(frame)
        frame = frame.f_back
    return found


def user_stack(depth: int = 0, limit: int = 8) -> list[Site]:
    """The lines of the program that led here, innermost first."""
    return [
        Site(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        for frame in user_frames(limit, depth + 1)
    ]


def own_frame(frame: FrameType | None, boundary: FrameType | None = None) -> FrameType | None:
    """The innermost frame of the user's own at or above a frame; a library's if there is none.

    `boundary` is the frame of the kit that runs the program: a library's line inside it is more
    informative than the user's line that called the kit.
    """
    library: FrameType | None = None
    while frame is not None:
        owner = owners[frame.f_code.co_filename]
        if owner is Owner.USERS:
            return frame
        if owner < Owner.ENGINE and library is None:
            library = frame
        if frame is boundary and library is not None:
            break
        frame = frame.f_back
    return library


def own_site(frame: FrameType | None, boundary: FrameType | None = None) -> Site | None:
    """The line that `own_frame` is at."""
    found = own_frame(frame, boundary)
    return None if found is None else site_at(found)
