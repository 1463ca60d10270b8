"""The images of a batch shared out among threads, each with a BLAS that runs in it alone.

OpenBLAS splits every product among its threads, which have to wait for each other each time; the
products of single images are too small for that. So while images are shared out, it is told to use one
thread for each caller. NumPy lets go of the interpreter while it copies and multiplies.
"""

from __future__ import annotations

import ctypes
import glob
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from .._arrays.once import once
from .._tensor.settings import get_num_threads

WORTH_SHARING = 1 << 22  # multiplications

_busy = threading.Lock()  # one batch at a time: the setting below is the process's
_pool: ThreadPoolExecutor | None = None
_pool_of = 0  # the process it belongs to: a pool does not survive a fork


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
    get, set_ = blas
    before = get()
    try:
        set_(1)
        jobs = [_executor().submit(_quietly, run, part) for part in ranges[1:]]
        try:
            first = run(ranges[0])
        finally:
            results = [job.result() for job in jobs]
        return [first, *results]
    finally:
        set_(before)
        _busy.release()


def _quietly(run: Callable[[range], Any], images: range) -> Any:
    with np.errstate(all="ignore"):
        return run(images)


def _executor() -> ThreadPoolExecutor:
    global _pool, _pool_of
    if _pool is None or _pool_of != os.getpid():
        _pool = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="tautograd-images")
        _pool_of = os.getpid()
    return _pool
