"""Writing a file so that it is there whole, or the old one is."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from typing import IO, Any


@contextlib.contextmanager
def beside(path: str | os.PathLike[str]) -> Iterator[str]:
    """A path to write to, of a file that takes the place of `path` once everything is written.

    It lies beside it under another name until then, so that a write that fails half-way (a full
    disk, an interrupt) leaves what was there before.
    """
    target = os.path.realpath(os.fspath(path))
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    handle, temporary = tempfile.mkstemp(prefix=os.path.basename(target) + ".", dir=folder)
    os.close(handle)
    try:
        yield temporary
        with open(temporary, "rb+") as written:
            os.fsync(written.fileno())
        os.chmod(temporary, _mode_of(target))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of `path` once everything is written."""
    with beside(path) as temporary, open(temporary, "wb") as file:
        yield file


def _mode_of(target: str) -> int:
    """The permissions of the file that is replaced, or those that a new file gets."""
    try:
        return os.stat(target).st_mode & 0o7777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def is_path(f: Any) -> bool:
    return isinstance(f, (str, os.PathLike))
