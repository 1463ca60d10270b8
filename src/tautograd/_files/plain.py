"""Reading a plain file, and nothing that could keep its reader waiting."""

from __future__ import annotations

import errno
import os
import stat

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # opening a pipe waits for somebody to write into it
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class NotPlain(OSError):
    """A pipe, a device or the like stands where a plain file should."""


class TooLarge(OSError):
    """A file has more bytes than any of its kind."""


def read_plain(path: str | os.PathLike[str], most: int = 256 << 20) -> bytes:
    """The bytes of a plain file; `NotPlain` for anything else, at once."""
    name = os.fsdecode(path)
    with open(os.open(name, _FLAGS), "rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        if not stat.S_ISREG(status.st_mode):
            raise NotPlain(errno.EINVAL, "is not a regular file", name)
        if status.st_size > most:
            raise TooLarge(
                errno.EFBIG, f"has {status.st_size} bytes: too large for a file of its kind", name
            )
        data = file.read(most + 1)
        if len(data) > most:  # it has grown, or is one of those of /proc, which have no size
            raise TooLarge(
                errno.EFBIG, f"has more than {most} bytes: too large for a file of its kind", name
            )
        return data
