"""Whose code is running, noted where it outlives the process: a crash may destroy the trace that would say it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

ALONE = "TAUT_FUZZ_ALONE"
"""Set in the environment of a worker in which no other's code is to run."""
OFFSET = 16
"""Where the note is, behind a worker's own."""
_handle = -1


def use(handle: int) -> None:
    """Note it in this file from now on."""
    global _handle
    _handle = handle


@contextmanager
def others() -> Iterator[None]:
    """Note that another's code runs inside."""
    _note(b"\x01")
    try:
        yield
    finally:
        _note(b"\x00")


def _note(whose: bytes) -> None:
    if _handle >= 0:
        os.pwrite(_handle, whose, OFFSET)


def is_others(handle: int) -> bool:
    """Whether another's code was running when last noted."""
    return os.pread(handle, 1, OFFSET) == b"\x01"
