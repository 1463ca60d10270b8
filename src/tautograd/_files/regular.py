"""Reading a regular file whole, without waiting for a pipe or reading a device for ever."""

from __future__ import annotations

import os
import stat


class NotRegular(OSError):
    """A pipe, a device, a socket: nothing that has an end of its own."""


class TooLarge(OSError):
    """More bytes than whoever reads will take."""


def read_regular(path: str | os.PathLike[str], most: int) -> bytes:
    """The bytes of a regular file of at most `most` bytes."""
    with open(path, "rb", opener=without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise NotRegular("not a regular file")
        if status.st_size > most:
            raise TooLarge(f"{status.st_size} bytes")
        data = file.read(most + 1)  # it may grow, and some files claim to have no bytes at all
        if len(data) > most:
            raise TooLarge(f"over {most} bytes")
        return data


def without_waiting(path: str, flags: int) -> int:
    """An `opener` for `open` that returns at once, whatever is there."""
    # To open a pipe for reading waits for a writer; to open a terminal may make it ours.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
