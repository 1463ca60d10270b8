"""Why evidence is refused, or a verification cannot run: errors whose text is for the user.

The text includes names from files, so it is made printable here, in one place.
"""

from __future__ import annotations

from tautograd._files.printable import printable


class EvidenceError(ValueError):
    """A file that is not evidence, or was changed after it was written; the text says why."""

    __module__ = "tautograd.evidence"

    def __init__(self, text: str = "") -> None:
        super().__init__(printable(text))


class CannotRun(Exception):
    """There is nothing to verify, or not with these arguments; the text says what to do."""

    __module__ = "tautograd.evidence"

    def __init__(self, text: str = "", *, lines: bool = False) -> None:
        # An error of the user's own code may span several lines; a name must not add any.
        super().__init__(printable(text, lines=lines))


def shown(name: str, most: int = 200) -> str:
    """A name from a file, shortened for a refusal."""
    return name if len(name) <= most else f"{name[:most]}..."


def said_by(error: BaseException) -> str:
    """The message of an error in user code; producing it runs their code, which may fail, too."""
    try:
        return str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as another:
        return f"(it cannot be printed: {type(another).__name__})"
