"""Loading crafted files: the outcome, its memory and its time."""

from __future__ import annotations

import io
import pickle
import time
import tracemalloc
from typing import Any

import tautograd
from fuzz.crafted_archives import archive

MEMORY, SECONDS = 100 << 20, 2.0
REFUSALS = (RuntimeError, pickle.UnpicklingError, EOFError)


def load(pickled: bytes, records: dict[str, bytes] | None = None) -> Any:
    return tautograd.load(io.BytesIO(archive(pickled, records)))


def tried(data: bytes) -> Any:
    """What a file is read as, or the refusal; any other exception is not ours to give."""
    try:
        return tautograd.load(io.BytesIO(data))
    except REFUSALS as error:
        return error


def cost(data: bytes) -> tuple[Any, int]:
    """The outcome, and its most memory."""
    tried(archive(b"\x80\x02}."))
    tracemalloc.start(1)
    try:
        return tried(data), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def seconds_of(data: bytes) -> float:
    """The processor time alone."""
    began = time.process_time()
    tried(data)
    return time.process_time() - began
