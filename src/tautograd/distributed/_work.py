"""`Work`: a collective under way, waited for against a time limit, with somebody looking after it meanwhile.

MPI moves only while somebody calls it. Who waits calls it; for work that was started with `async_op=True` a
thread does, so that it goes on while the program computes.
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

_SPIN = 3e-4  # seconds during which giving way to others is all the pause there is
# MPI moves a long message a piece at a call, so pauses are a small part of what has been waited already.
_PAUSE_SHARE = 0.03
_LONGEST_PAUSE = 1e-3
_PAUSE = 2e-4  # between two looks at work that nobody waits for
GAVE_UP = "\x01"  # before what a rank waited in, on the board
_LOOK_EVERY = 0.05  # seconds between two looks at what the other ranks do


class Work:
    """A collective or a message under way."""

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
        mark = f" #{number}"  # what is called; the line stands behind it
        self.what = label.partition(mark)[0] + mark
        self._result = result
        self._limit = timeout
        self._started = time.monotonic()
        self._lock = threading.RLock()
        self._done = False
        self._error: BaseException | None = None
        self._future: Future | None = None
        self._is_awaited = False  # who waits moves it on
        self._is_looked_after = False
        self._noted: Any = None  # where a program that is being recorded has started it

    def _poll(self) -> bool:
        """Move the work on; whether it is done."""
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
        """Put the result in its place. What goes wrong there is this rank's own: the exchange has taken place, and the
        group can be used further."""
        try:
            return None if self._finish is None else self._finish(self)
        except Exception as error:
            return error

    def _is_done(self) -> bool:
        """Asked again with the lock held."""
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
        """Whether it is done, and well."""
        return self._poll() and self._error is None

    def exception(self) -> BaseException | None:
        """What went wrong."""
        return self._error

    def source_rank(self) -> int:
        """Who sent the message that was received."""
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
        """Wait, as `wait` does."""
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
        """Until it is done; what went wrong is raised, and so is a time limit that has passed."""
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
                time.sleep(min((now - began) * _PAUSE_SHARE, _LONGEST_PAUSE))
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
            # A rank that gave up a moment before another says so, and not that it computes.
            self._group.waits("" if self._error is None else f"{GAVE_UP}{self.label}")

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            if not self._done:  # it may just have come
                self._error = error
                self._settle()


class _Progress:
    """The thread that moves work on while the program does other things."""

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
        """Note that somebody waits for it, who moves it on, or no longer."""
        work._is_awaited = awaited
        if awaited or not work._is_looked_after:
            return
        with self._lock:
            if work._done:
                self._works = [other for other in self._works if other is not work]
            else:  # given up by an interrupt
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
            # Who waits for one moves MPI, and so all, on: a core that ranks share is better left to another.
            time.sleep(_LONGEST_PAUSE if some_are_awaited else _PAUSE)


def _moved_on(works: list[Work]) -> set[int]:
    """The works that are done, by identity. Those that somebody waits for are moved on there."""
    return {id(work) for work in works if work._done or (not work._is_awaited and work._poll())}


progress = _Progress()


def _after_fork() -> None:
    global progress
    progress = _Progress()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
