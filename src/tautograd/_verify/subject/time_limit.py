"""A limit on how long something may take, where the platform can interrupt it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TookTooLong(BaseException):
    """The time was up. No plain `Exception`, so that what is tried does not catch it."""


_LONGEST_IMPORT = 60.0  # seconds; one that takes longer never ends


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt the block after so many seconds: in the main thread of a POSIX system only.

    A timer that was running before (a test runner's, say) goes on with the time it had left. An import
    is not interrupted in its middle, which would leave half a module behind for the rest of the process.
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
