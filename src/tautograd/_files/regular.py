"""Reading regular files only, so as not to wait for a pipe or read a device for ever."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader


class NotRegular(OSError):
    """A pipe, a device, a socket: something without an end of its own."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        what = "it is a pipe, a socket or a device, and only a regular file can be read"
        super().__init__(errno.EINVAL, what, os.fspath(path))


class TooLarge(OSError):
    """More bytes than the reader accepts."""

    def __init__(self, path: str | os.PathLike[str], most: int) -> None:
        super().__init__(errno.EFBIG, f"it has more than {most} bytes", os.fspath(path))


def read_regular(path: str | os.PathLike[str], most: int = 256 << 20) -> bytes:
    """The bytes of a regular file of at most `most` bytes."""
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise TooLarge(path, most)
        data = file.read(most + 1)  # it may grow, and some files report no size at all
        if len(data) > most:
            raise TooLarge(path, most)
        return data


def open_regular(path: str | os.PathLike[str]) -> BufferedReader:
    """A regular file, open for reading."""
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115  (whoever asked closes it)
    try:
        _check(path, os.fstat(file.fileno()).st_mode)
    except BaseException:
        file.close()
        raise
    return file


def check_regular(path: str | os.PathLike[str]) -> None:
    """Raise the same error for a file that a package will open; a missing file is left for it to report."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return
    if not stat.S_ISDIR(mode):
        _check(path, mode)


def _check(path: str | os.PathLike[str], mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise NotRegular(path)


def _without_waiting(path: str, flags: int) -> int:
    # Opening a pipe for reading waits for a writer; opening a terminal may make it our controlling terminal.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
