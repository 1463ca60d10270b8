"""The images of a batch shared out among threads, each with a BLAS that runs in it alone.

OpenBLAS splits every product among its threads, which have to wait for each other each time; the
products of single images are too small for that. So while images are shared out, it is told to use one
thread for each caller. NumPy lets go of the interpreter while it copies and multiplies.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from ...._arrays.once import once
from ...._tensor.settings import get_num_threads
from ...thread_pool import at_once

WORTH_SHARING = 1 << 22  # multiplications

_busy = threading.Lock()  # one batch at a time: the setting below is the process's


@once
def _blas() -> Any:
    """The functions that say and set how many threads NumPy's BLAS uses; None if it is not OpenBLAS."""
    folder = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs")
    for path in glob.glob(os.path.join(folder, "libscipy_openblas*")):
        library = ctypes.CDLL(path)
        for suffix in ("64_", ""):
            get = getattr(library, f"scipy_openblas_get_num_threads{suffix}", None)
            set_ = getattr(library, f"scipy_openblas_set_num_threads{suffix}", None)
            if get is not None and set_ is not None:
                return get, set_
    return None


def share_images(run: Callable[[range], Any], batch: int, work: int) -> list[Any]:
    """What `run` gives for each of the ranges that make up the batch, computed at the same time.

    `work` is the number of multiplications of the whole batch.
    """
    blas: Any = _blas() if work >= WORTH_SHARING and batch > 1 else None
    workers = 1 if blas is None else min(get_num_threads(), blas[0](), batch)
    if workers < 2:
        return [run(range(batch))]
    share = -(-batch // workers)
    ranges = [range(start, min(start + share, batch)) for start in range(0, batch, share)]
    if not _busy.acquire(blocking=False):
        return [run(images) for images in ranges]  # the same parts, so the same sums
    try:
        with _alone(*blas):
            return at_once([functools.partial(_quietly, run, part) for part in ranges])
    finally:
        _busy.release()


def _quietly(run: Callable[[range], Any], images: range) -> Any:
    with np.errstate(all="ignore"):
        return run(images)


# --- BLAS's own threads: a setting of the process ---------------------------------------------------------


@contextmanager
def _as_here(get: Callable[[], int], set_: Callable[[int], object]) -> Iterator[object]:
    """Meanwhile BLAS uses the thread that calls it and no other."""
    global _before
    _before = get()
    try:
        set_(1)
        yield None
    finally:
        set_(_before)
        _before = None


_alone: Callable[..., AbstractContextManager[object]] = _as_here
_before: int | None = None  # what the setting was, while it is another


def take_over(alone: Callable[..., AbstractContextManager[object]]) -> None:
    """Let another part of the program see to the setting: two would put back what the other had set."""
    global _alone
    with _busy:
        _alone = alone


def _after_fork() -> None:
    """In a child: whoever shared images out has stayed behind, and does not put the setting back."""
    global _busy, _before
    _busy = threading.Lock()
    if _before is not None:
        _blas()[1](_before)
        _before = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
