"""`Work`: a collective in flight, waited for with a time limit and monitored meanwhile.

MPI makes progress only while somebody calls it. A waiting thread calls it; for work started with `async_op=True` a
background thread does, so that it proceeds while the program computes.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from .._autograd.effects import value_asked
from ..futures import Future
from ._compiled import note_wait
from ._transport.base import Request

if TYPE_CHECKING:
    from ._process_group import ProcessGroup

_SPIN = 3e-4  # seconds during which yielding the core is the only pause
# MPI moves a long message one piece per call, so pauses stay a small share of the time already waited.
PAUSE_SHARE = 0.03
_LONGEST_PAUSE = 1e-3
_PAUSE = 2e-4  # between two polls of work that nobody waits for
GAVE_UP = "\x01"  # on the board, before what a rank waited in
_LOOK_EVERY = 0.05  # seconds between two checks of what the other ranks do


class Work:
    """A collective or a message in flight."""

    __module__ = "torch.distributed"

    def __init__(
        self,
        group: ProcessGroup,
        label: str,
        number: int,
        peer: int | None,
        request: Request,
        result: list[Any],
        finish: Callable[[Work], Exception | None] | None,
        timeout: float,
    ) -> None:
        self._group, self._request, self._finish = group, request, finish
        self.label, self.number, self.peer = label, number, peer
        mark = f" #{number}"  # the call; the line follows it
        self.what = label.partition(mark)[0] + mark
        self._result = result
        self._limit = timeout
        self._started = time.monotonic()
        self._lock = threading.RLock()
        self._done = False
        self._error: BaseException | None = None
        self._future: Future | None = None
        self._is_awaited = False  # whoever waits drives it
        self._is_looked_after = False
        self._noted: Any = None  # where a program being recorded has started it

    def _poll(self) -> bool:
        """Make progress; whether it is done."""
        if self._done:
            return True
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if self._is_done():
                return True
            try:
                if not self._request.test():
                    return False
            except Exception as error:
                self._error = self._group.explained(self, error)
            else:
                self._error = self._finished()
            self._settle()
            return True
        finally:
            self._lock.release()

    def _finished(self) -> Exception | None:
        """Store the result. An error here is this rank's own: the exchange has taken place, and the
        group stays usable."""
        try:
            return None if self._finish is None else self._finish(self)
        except Exception as error:
            return error

    def _is_done(self) -> bool:
        """Checked again with the lock held."""
        return self._done

    def _settle(self) -> None:
        self._done = True
        self._finish = None
        if self._future is not None:
            if self._error is None:
                self._future.set_result(self._result)
            else:
                self._future.set_exception(self._error)

    def is_completed(self) -> bool:
        """Whether it is done."""
        value_asked("whether a collective is over", "numpy")
        return self._poll()

    def is_success(self) -> bool:
        """Whether it is done without an error."""
        return self._poll() and self._error is None

    def exception(self) -> BaseException | None:
        """The error, if there was one."""
        return self._error

    def source_rank(self) -> int:
        """The sender of the message that was received."""
        received = self._request.received()
        if received is None:
            raise RuntimeError(
                "sourceRank() may only be called on work objects that correspond to a recv"
            )
        return self._group.ranks[received[0]]

    _source_rank = source_rank

    def result(self) -> list[Any]:
        """The tensors that hold the result."""
        return self._result

    def synchronize(self) -> None:
        """The same as `wait`."""
        self.wait()

    def get_future(self) -> Future:
        """A future of the tensors that hold the result."""
        with self._lock:
            if self._future is None:
                self._future = Future()
                self._future._drive = self._wait_quietly
                self._future._poll = self._poll
                if self._done:
                    self._settle()
            return self._future

    def _wait_quietly(self) -> None:
        try:
            self.wait()
        except BaseException:
            if not self._done:
                raise

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until it is done; raises its error, or one for an exceeded time limit."""
        note_wait(self)
        if not self._poll():
            self._wait(self._limit if not timeout else timeout.total_seconds())
        if self._error is not None:
            raise self._error
        return True

    def _wait(self, limit: float) -> None:
        began = now = time.monotonic()
        look = now + _LOOK_EVERY
        self._group.waits(self.label)
        progress.is_awaited(self, True)
        try:
            while not self._poll():
                now = time.monotonic()
                if now - began < _SPIN:
                    os.sched_yield()
                    continue
                time.sleep(min((now - began) * PAUSE_SHARE, _LONGEST_PAUSE))
                if now < look:
                    continue
                look = now + _LOOK_EVERY
                error = self._group.look(self, now - self._started)
                if error is None and now - began > limit:
                    error = self._group.timed_out(self, limit)
                if error is not None:
                    self._fail(error)
        finally:
            progress.is_awaited(self, False)
            # A rank that gave up a moment before another reports that, instead of seeming to compute.
            self._group.waits("" if self._error is None else f"{GAVE_UP}{self.label}")

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            if not self._done:  # it may just have completed
                self._error = error
                self._settle()


class _Progress:
    """The thread that drives work while the program does other things."""

    def __init__(self) -> None:
        self._works: list[Work] = []
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def look_after(self, work: Work) -> None:
        work._is_looked_after = True
        with self._lock:
            self._works.append(work)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="tautograd-distributed", daemon=True
                )
                self._thread.start()
        self._wake.set()

    def is_awaited(self, work: Work, awaited: bool) -> None:
        """Record that somebody waits for it, and so drives it, or no longer does."""
        work._is_awaited = awaited
        if awaited or not work._is_looked_after:
            return
        with self._lock:
            if work._done:
                self._works = [other for other in self._works if other is not work]
            else:  # abandoned by an interrupt
                self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            with self._lock:
                works = [work for work in self._works if not work._is_awaited]
                some_are_awaited = len(works) < len(self._works)
                if not works:
                    self._wake.clear()
                    continue
            done = _moved_on(works)
            if done:
                with self._lock:
                    self._works = [work for work in self._works if id(work) not in done]
            # A thread that waits for any work drives MPI, and so all work: leave a shared core to another rank.
            time.sleep(_LONGEST_PAUSE if some_are_awaited else _PAUSE)


def _moved_on(works: list[Work]) -> set[int]:
    """The works that are done, by identity. Those that somebody waits for are driven there."""
    return {id(work) for work in works if work._done or (not work._is_awaited and work._poll())}


progress = _Progress()


def _after_fork() -> None:
    global progress
    progress = _Progress()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
