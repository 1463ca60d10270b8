"""Threads for large loops, in machine code: started when first needed, asleep when there is nothing to do.

A job is a function over a range that is handed out in chunks. Whoever is awake joins while the job is open;
the caller works too, closes the job when no chunk is left, and waits only for those who joined. So a
thread that the system has not woken in time costs nothing. Calls at the same time from several threads of
Python: the first has the helpers, the others work alone. A child process starts its own. While programs
run that split products themselves, BLAS is told to use the calling thread alone.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from ...._arrays.once import once
from ...._ops.nn.convolution import batch_threads
from ...._tensor.settings import on_num_threads
from ..disk_cache import store
from ..products import blas
from . import jit
from .thread_pool_ir import ALONE, BEFORE, BYTES, INSIDE, PARALLEL, STATE, TOGETHER, WANTED, text


class _Runtime:
    """The pool's code and its state in memory; it stays until the process ends, as its threads do."""

    def __init__(self) -> None:
        code, _ = store.compiled(text())
        loaded = jit.Loaded(code, {})
        self.addresses = {name: loaded.address(name) for name in (PARALLEL, ALONE, TOGETHER)}
        self.state = loaded.variable(STATE)
        loaded.keep()
        os.register_at_fork(after_in_child=self._start_anew)
        batch_threads.take_over(self.blas_alone)

    def use(self, threads: int) -> None:
        ctypes.c_int64.from_address(self.state + WANTED).value = threads

    def wanted(self) -> int:
        return ctypes.c_int64.from_address(self.state + WANTED).value

    def _start_anew(self) -> None:
        """In a child process: the threads have stayed behind, and who told BLAS to use one does not come back."""
        wanted = self.wanted()
        inside = ctypes.c_int64.from_address(self.state + INSIDE).value
        before = ctypes.c_int32.from_address(self.state + BEFORE).value
        ctypes.memset(self.state, 0, BYTES)
        self.use(wanted)
        found = blas()
        if inside and found is not None:
            ctypes.CFUNCTYPE(None, ctypes.c_int)(found.addresses["set_threads"])(before)

    @contextmanager
    def blas_alone(self, *_: object) -> Iterator[bool]:
        """Meanwhile BLAS uses the thread that calls it and no other; says whether it can be told so."""
        found = blas()
        if found is None or not found.obeys:
            yield False
            return
        get, set_ = found.addresses["get_threads"], found.addresses["set_threads"]
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(self.addresses[ALONE])(get, set_)
        try:
            yield True
        finally:
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.addresses[TOGETHER])(set_)


@once
def _runtime() -> _Runtime | None:
    if os.name != "posix":
        return None
    return _Runtime()


def use_threads(count: int) -> None:
    """How many threads large loops are split over, from now on."""
    runtime = _runtime()
    if runtime is not None:
        runtime.use(max(1, min(count, processors())))


def processors() -> int:
    """How many processors this process may use."""
    affinity: Any = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def symbols() -> dict[str, int]:
    runtime = _runtime()
    return {} if runtime is None else runtime.addresses


def blas_alone() -> AbstractContextManager[bool]:
    """Meanwhile BLAS uses the thread that calls it and no other; says whether it can be told so."""
    runtime = _runtime()
    return nullcontext(False) if runtime is None else runtime.blas_alone()


def available() -> bool:
    return _runtime() is not None


on_num_threads.append(use_threads)
