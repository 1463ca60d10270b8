"""Work on a large array, cut into parts that a few threads do at once.

NumPy's functions let go of the interpreter while they compute, so threads help as soon as a part is
worth more than the handing over.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .._tensor.settings import get_num_threads

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

WORTH_A_THREAD = 1 << 17  # elements

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_pool_of = 0  # the process it belongs to: a pool does not survive a fork


def in_parallel(run: Callable[[int, int], None], size: int, grain: int) -> None:
    """Call `run(start, stop)` on parts that make up `range(size)`; parts begin at multiples of `grain`."""
    workers = min(get_num_threads(), size // WORTH_A_THREAD)
    if workers < 2:
        run(0, size)
        return
    part = -(-size // (workers * grain)) * grain
    spans = [(start, min(start + part, size)) for start in range(0, size, part)]
    at_once([functools.partial(run, *span) for span in spans])


def at_once(runs: Sequence[Callable[[], object]]) -> None:
    """Call functions at the same time: the first by this thread, the others by ours."""
    waits = [_begun(run) for run in runs[1:]]
    try:
        runs[0]()
    finally:
        for wait in waits:
            wait()


def _begun(run: Callable[[], object]) -> Callable[[], None]:
    """What waits until a thread has called a function, or calls it where no thread can be had any more.

    So it is when the main thread has ended, while another one still trains.
    """
    lock = threading.Lock()
    done: list[bool] = []

    def once() -> None:
        with lock:
            if not done:
                done.append(True)
                run()

    try:
        return executor().submit(once).result
    except RuntimeError:
        return once


def executor() -> ThreadPoolExecutor:
    """The threads of this process."""
    from concurrent.futures import ThreadPoolExecutor

    global _pool, _pool_of
    with _lock:
        if _pool is None or _pool_of != os.getpid():
            _pool = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="tautograd")
            _pool_of = os.getpid()
        return _pool
