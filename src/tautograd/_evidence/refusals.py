"""Why evidence is refused, or a verification cannot be run: errors whose text is for the user.

The text names what files say of themselves, so that it is made printable here, once for all.
"""

from __future__ import annotations

from tautograd._files.printable import printable


class EvidenceError(ValueError):
    """A file that is no evidence, or no longer the one that was written; the text says why."""

    __module__ = "tautograd.evidence"

    def __init__(self, text: str = "") -> None:
        super().__init__(printable(text))


class CannotRun(Exception):
    """There is nothing to verify, or not with what was given; the text says what to do."""

    __module__ = "tautograd.evidence"

    def __init__(self, text: str = "", *, lines: bool = False) -> None:
        # An error of the user's own code may have several lines; a name may not make up any.
        super().__init__(printable(text, lines=lines))


def shown(name: str, most: int = 200) -> str:
    """A name that a file holds, as a refusal has it: not endless."""
    return name if len(name) <= most else f"{name[:most]}..."


def said_by(error: BaseException) -> str:
    """What an error of the user's code says; to say it is code of theirs too, which may fail."""
    try:
        return str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as another:
        return f"(it cannot be printed: {type(another).__name__})"
