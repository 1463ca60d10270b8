"""Where a command may write its output: under a suitable name, and over nobody else's file.

An existing file is replaced only if we wrote it, which a mark near its beginning shows, if it is empty,
or if the user asked for it (`--force`).
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from . import atomic
from .printable import utf8

GENERATOR = '<meta name="generator" content="tautograd">'
"""The mark of every page."""


@dataclass(frozen=True)
class Kind:
    """A kind of file."""

    name: str
    suffixes: tuple[str, ...]
    marks: tuple[bytes, ...]
    """Marks, one of which is in the first part of each such file we wrote."""


PAGE = Kind(
    "a page",
    (".html", ".htm"),
    (
        GENERATOR.encode(),
        # Pages of versions without that mark begin with their content security policy.
        b'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src \'none',
    ),
)
SARIF = Kind("SARIF", (".sarif", ".json"), (b'"name": "taut doctor"',))
MADE_BY = b"Made by tautograd"
"""The mark of every picture."""
PICTURES = {
    suffix: Kind("a picture", (f".{suffix}",), (MADE_BY,))
    for suffix in ("svg", "png", "gif", "dot")
}
EVIDENCE = Kind("evidence", (".json",), (b'"format": "tautograd evidence"',))
BADGE = Kind("a badge", (".json",), (b'"label": "gradients"',))
RECORDING = Kind("a recording", (".json",), (b'"format": "tautograd recording"',))
SIGNATURE = Kind("a signature", (".sig",), (b"-----BEGIN SSH SIGNATURE-----",))
_FIRST_PART = 4096


class Refused(OSError):
    """A file must not be written; the message says which, and why."""


def check(path: str, kind: Kind, *, force: bool = False) -> None:
    """Before any work: raise `Refused` for what cannot, or must not, be written afterwards."""
    shown = f"cannot write '{path}'"
    try:
        is_plain = atomic.is_plain_or_new(path)
        if is_plain and not path.lower().endswith(kind.suffixes):
            raise Refused(f"{shown}: the name of {kind.name} ends in {' or '.join(kind.suffixes)}")
        if not is_plain and stat.S_ISBLK(os.stat(path).st_mode):
            raise Refused(f"{shown}: it is a block device")
        if is_plain and not force and not _is_ours(path, kind):
            raise Refused(
                f"{shown}: it is there already, and not {kind.name} that tautograd made; choose another "
                "name, or say that it is to be replaced: --force"
            )
        atomic.check(path)
    except Refused:
        raise
    except RuntimeError:
        folder = os.path.dirname(os.path.realpath(path))
        raise Refused(f"{shown}: there is no folder '{folder}'") from None
    except IsADirectoryError:
        raise Refused(f"{shown}: '{path}' is a folder; name a file in it") from None
    except (OSError, ValueError) as error:
        raise Refused(f"{shown}: {reason(error)}") from None


def check_apart(*paths: str | None) -> None:
    """Raise `Refused` if two names refer to one regular file: the second report would replace the first."""
    seen: set[str] = set()
    for path in paths:
        if path is not None and atomic.is_plain_or_new(path):
            if os.path.realpath(path) in seen:
                raise Refused(
                    f"cannot write '{path}': another report is to be written to that file"
                )
            seen.add(os.path.realpath(path))


def write(path: str, content: str | bytes, kind: Kind, *, force: bool = False) -> None:
    """Write it, if the file is still as it was when it was checked."""
    check(path, kind, force=force)
    with atomic.replacing(path, wait=False) as file:
        file.write(utf8(content) if isinstance(content, str) else content)


def reason(error: BaseException) -> str:
    """The message of a system error, without its number and the file name."""
    said = error.strerror if isinstance(error, OSError) else None
    return said or f"{error}" or type(error).__name__


def _is_ours(path: str, kind: Kind) -> bool:
    if not os.path.exists(path):
        return True
    try:
        with open(path, "rb") as file:
            start = file.read(_FIRST_PART)
    except OSError:  # what cannot be read cannot be recognised
        return False
    return not start or any(mark in start for mark in kind.marks)
