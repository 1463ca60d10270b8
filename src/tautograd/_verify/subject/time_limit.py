"""A time limit: enforced between runs by the clock, and within them by a signal.

The smallest unit that can be done or skipped is one run, forward or backward. Each is timed, and none
is started that, going by earlier ones, would not finish in time. Long work between runs, and a run that
takes longer than all before, are interrupted where the platform can: in the main thread of a POSIX
system.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")


class TookTooLong(BaseException):
    """Time ran out. Not an `Exception`, so that code under test does not catch it."""


clock: Callable[[], float] = time.monotonic
_LONGEST_IMPORT = 60.0  # seconds; one that takes longer is taken to hang
_EFFORT = {"forward": 1.0, "backward": 2.0}
"""Backward multiplies twice where forward multiplied once."""


class Deadline:
    """When something has to be finished, and how long its runs have taken so far."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.end = clock() + seconds
        self._longest: dict[Any, float] = {}

    def left(self) -> float:
        return self.end - clock()

    def expected(self, kind: str, weight: float) -> float:
        """How long a run is expected to take: as the longest of its kind, or estimated from another kind.

        `weight` is the cost of a run relative to others of its kind: float64 numbers are twice as long.
        """
        known = self._longest.get((kind, weight))
        if (
            known is not None or kind not in _EFFORT
        ):  # a single call within the computation is less than all of it
            return known or 0.0
        return max(
            (
                taken * _EFFORT[kind] * weight / (_EFFORT[other] * others)
                for (other, others), taken in self._longest.items()
                if other in _EFFORT
            ),
            default=0.0,
        )

    def timed(self, kind: str, weight: float, run: Callable[..., T], *args: Any) -> T:
        """The result of a run; it is not started if it would not finish in time."""
        began = clock()
        if began + self.expected(kind, weight) > self.end:
            raise TookTooLong
        result = run(*args)
        taken = clock() - began
        self._longest[kind, weight] = max(self._longest.get((kind, weight), 0.0), taken)
        return result


class _Now(threading.local):
    deadline: Deadline | None = None


now = _Now()
"""The deadline that this thread has to meet, if any."""


def in_time(kind: str, weight: float, run: Callable[..., T], *args: Any) -> T:
    """One run, forward or backward, within the time that is left."""
    deadline = now.deadline
    return run(*args) if deadline is None else deadline.timed(kind, weight, run, *args)


@contextmanager
def ending_in(seconds: float | None) -> Iterator[None]:
    """All runs inside end after this many seconds, and so does what is between them."""
    if seconds is None:
        yield
        return
    outer, now.deadline = now.deadline, Deadline(seconds)
    try:
        with time_limit(seconds):
            yield
    finally:
        now.deadline = outer


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt the block after this many seconds: in the main thread of a POSIX system only.

    A timer that was already running (a test runner's, say) continues with the time it had left. An import
    is never interrupted halfway: that would leave a partial module behind for the rest of the process.
    """
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    began = time.monotonic()

    def stop(_: int, frame: FrameType | None) -> None:
        if _is_importing(frame) and time.monotonic() - began < seconds + _LONGEST_IMPORT:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
        else:
            raise TookTooLong

    handler = signal.signal(signal.SIGALRM, stop)
    left, again = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)
        if left:
            rest = max(left - (time.monotonic() - began), 1e-3)
            signal.setitimer(signal.ITIMER_REAL, rest, again)
