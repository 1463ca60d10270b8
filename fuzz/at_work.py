"""Whose code is running, recorded outside the process: a crash may destroy the traceback that would tell."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

ALONE = "TAUT_FUZZ_ALONE"
"""Set in the environment of a worker that must run no foreign code."""
OFFSET = 16
"""The record's offset, after the worker's own."""
_handle = -1


def use(handle: int) -> None:
    """Record it in this file from now on."""
    global _handle
    _handle = handle


@contextmanager
def others() -> Iterator[None]:
    """A context that records that foreign code is running."""
    _note(b"\x01")
    try:
        yield
    finally:
        _note(b"\x00")


def _note(whose: bytes) -> None:
    if _handle >= 0:
        os.pwrite(_handle, whose, OFFSET)


def is_others(handle: int) -> bool:
    """Whether foreign code was running according to the last record."""
    return os.pread(handle, 1, OFFSET) == b"\x01"
