"""Opening a file to read it: a regular one, and not a pipe or device that may never end."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """The file, or an error in words; a pipe that nobody writes to is not waited for."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not stat.S_ISREG(mode):
            raise _not_regular(path)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def check_regular(path: str | os.PathLike[str]) -> None:
    """The same error, where a package opens the file; one that is not there is its to report."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise _not_regular(path)


def _not_regular(path: str | os.PathLike[str]) -> RuntimeError:
    return RuntimeError(
        f"{os.fspath(path)!r} is a pipe, a socket or a device, and only a regular file can be loaded"
    )
