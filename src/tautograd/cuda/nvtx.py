"""NVTX ranges and marks: names on the time line of NVIDIA's profilers, by CuPy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._arrays.devices import cuda_backend

__all__ = ["mark", "range", "range_pop", "range_push"]


class _Open(threading.local):
    """How many ranges of this thread have begun and not ended."""

    count = 0


_open = _Open()


def _library() -> Any:
    """CuPy's binding; PyTorch's error where there is none."""
    backend = cuda_backend()
    found = None if backend is None else getattr(backend.cupy.cuda, "nvtx", None)
    if found is None:
        raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")
    return found


def range_push(msg: str) -> int:
    """Begin a range; it gives how many others it is in."""
    _library().RangePush(msg)
    _open.count += 1
    return _open.count - 1


def range_pop() -> int:
    """End the range that was begun last; it gives how many others that was in."""
    _library().RangePop()
    _open.count = max(_open.count - 1, 0)
    return _open.count


def mark(msg: str) -> None:
    """A name at one moment."""
    _library().Mark(msg)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range around a block or a function; further arguments are for `msg.format`."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
