"""Lines looked for by what they say, in the functions of the program that are running."""

from __future__ import annotations

import re
from types import CodeType, FrameType

from ..._user_code.owners import foreign
from ..._user_code.sites import Site
from ..._user_code.source_lines import line_of
from ..._user_code.stack import user_frames


def line_like(pattern: str, frames: int = 3) -> Site | None:
    """A line that looks so, of the user's functions that are running now or that these call, the
    innermost first."""
    running = user_frames(frames)
    called = [code for frame in running for code in _called(frame)]
    for code in [frame.f_code for frame in running] + called:
        lines = sorted({n for _, _, n in code.co_lines() if n is not None})
        for line in lines:
            if re.search(pattern, line_of(code.co_filename, line)):
                return Site(code.co_filename, line, code.co_name)
    return None


def _called(frame: FrameType) -> list[CodeType]:
    """The user's functions whose names are in a function that is running."""
    code = frame.f_code
    given = (getattr(frame.f_globals.get(name), "__code__", None) for name in code.co_names)
    inside = [one for one in code.co_consts if isinstance(one, CodeType)]
    found = [one for one in given if isinstance(one, CodeType)] + inside
    return [one for one in found if not foreign[one.co_filename]]
