"""Work on a large array, cut into parts that a few threads do at once.

NumPy's functions let go of the interpreter while they compute, so threads help as soon as a part is
worth more than the handing over.

The threads are daemons: nothing waits for them, neither the interpreter when it ends nor a tool that waits for
a script's own threads. A part that no thread has begun is done by whoever waits for it. So all of it is done
also where there are no threads to be had: in a child process, inside a part, while the process ends.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import get_ident
from typing import Any

from .._tensor.settings import get_num_threads

WORTH_A_THREAD = 1 << 17  # elements
MOST = os.cpu_count() or 1


def in_parallel(run: Callable[[int, int], None], size: int, grain: int) -> None:
    """Call `run(start, stop)` on parts that make up `range(size)`; parts begin at multiples of `grain`."""
    workers = min(get_num_threads(), size // WORTH_A_THREAD)
    if workers < 2:
        run(0, size)
        return
    part = -(-size // (workers * grain)) * grain
    spans = [(start, min(start + part, size)) for start in range(0, size, part)]
    at_once([functools.partial(run, *span) for span in spans])


def at_once(runs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Call functions at the same time, the first by this thread, the others by ours; and what they gave.

    After an error or Ctrl-C no further part is begun, and those that are under way have ended: nobody computes
    behind the caller's back, in memory that may be used for something else.
    """
    parts = [_Part(run) for run in runs[1:]]
    try:
        _pool.give(parts)
        first = runs[0]()
        for part in parts:
            part.do()
    finally:
        _settle(parts)
    for part in parts:
        if part.error is not None:
            raise part.error
    return [first, *(part.result for part in parts)]


def _settle(parts: list[_Part]) -> None:
    """Wait for those that are under way, let the others be; an interrupt is heard when that is done."""
    interrupt: BaseException | None = None
    while True:
        try:
            for part in parts:
                part.give_up()
            for part in parts:
                part.wait()
            break
        except BaseException as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt


class _Part:
    """A function that is called once, by the first thread that comes to it."""

    __slots__ = ("_by", "_ended", "error", "result", "run")

    def __init__(self, run: Callable[[], Any]) -> None:
        self.run: Callable[[], Any] | None = run
        self.result: Any = None
        self.error: BaseException | None = None
        self._by: dict[str, int] = {}  # the thread whose it is, by one step that nothing interrupts
        self._ended = threading.Lock()
        self._ended.acquire()

    def is_mine(self) -> bool:
        """Whether it is this thread's; it is, if nobody else has been here before."""
        return self._by.setdefault("thread", get_ident()) == get_ident()

    def do(self) -> None:
        """Call the function, unless another thread has begun."""
        if not self.is_mine() or self.run is None:
            return  # another's, or one of this thread's own parts, which it finds in the queue later
        run, self.run = self.run, None
        try:
            self.result = run()
        except BaseException as error:
            self.error = error
        finally:
            self._ended.release()

    def give_up(self) -> None:
        """Let nobody begin it any more."""
        if self.is_mine():
            self.run = None

    def wait(self) -> None:
        """Until no other thread is at it."""
        if not self.is_mine():
            with self._ended:
                pass


class _Pool:
    """Threads that take parts from a queue; they are started when they are first needed."""

    def __init__(self) -> None:
        self._parts: SimpleQueue[_Part] = SimpleQueue()
        self._starting = threading.Lock()
        self._started = 0

    def give(self, parts: list[_Part]) -> None:
        if self._started < min(len(parts), MOST):
            self._start(min(len(parts), MOST))
        if self._started:
            for part in parts:
                self._parts.put(part)

    def _start(self, wanted: int) -> None:
        if not self._starting.acquire(blocking=False):
            return  # another thread is at it, or this one before a signal came
        try:
            while self._started < wanted:
                name = f"tautograd-{self._started}"
                threading.Thread(target=_work, args=(self._parts,), name=name, daemon=True).start()
                self._started += 1
        except RuntimeError:
            pass  # no thread can be had: too many, or the process is ending
        finally:
            self._starting.release()


def _work(parts: SimpleQueue[_Part]) -> None:
    while True:
        parts.get().do()


_pool = _Pool()


def _after_fork() -> None:
    global _pool
    _pool = _Pool()  # the threads have stayed behind


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
