"""Reading a regular file whole, without waiting for a pipe or reading a device for ever."""

from __future__ import annotations

import os
import stat
from io import BufferedReader


class NotRegular(OSError):
    """A pipe, a device, a socket: nothing that has an end of its own."""


class TooLarge(OSError):
    """More bytes than whoever reads will take."""


def read_regular(path: str | os.PathLike[str], most: int) -> bytes:
    """The bytes of a regular file of at most `most` bytes."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise TooLarge(f"{size} bytes")
        data = file.read(most + 1)  # it may grow, and some files claim to have no bytes at all
        if len(data) > most:
            raise TooLarge(f"over {most} bytes")
        return data


def open_regular(path: str | os.PathLike[str]) -> BufferedReader:
    """A regular file, open to be read."""
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115  (whoever asked closes it)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise NotRegular("not a regular file")
    return file


def _without_waiting(path: str, flags: int) -> int:
    # To open a pipe for reading waits for a writer; to open a terminal may make it ours.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
