"""MPI calls that exist only in a blocking form (joining, making a group), run so that nobody waits for a dead rank.

Such a call runs in its own thread, while this one checks whether the others are still alive and how late it is. After
an error that thread keeps waiting: it cannot be cancelled, and it ends with the process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from ._errors import DistBackendError

GRACE = 2.0  # seconds in which what a rank sent before it exited may still arrive
_LOOK_EVERY = 0.05

Gone = Callable[[], str | None]


def made(call: Callable[[], Any], what: str, limit: timedelta, gone: Gone) -> Any:
    """The result of a call; `gone` says which rank that it needs has exited."""
    ended = threading.Event()
    found: list[tuple[bool, Any]] = []

    def work() -> None:
        try:
            found.append((True, call()))
        except BaseException as error:  # re-raised in the calling thread
            found.append((False, error))
        finally:
            ended.set()

    threading.Thread(target=work, name="tautograd-joining", daemon=True).start()
    wait_until(ended.wait, what, limit, gone, GRACE)
    well, value = found[0]
    if not well:
        raise value
    return value


def wait_until(
    done: Callable[[float], bool], what: str, limit: timedelta, gone: Gone, grace: float = 0.0
) -> None:
    """Wait until `done(seconds)` holds; a rank that has exited gets a moment's grace."""
    began = time.monotonic()
    noticed: float | None = None
    while not done(_LOOK_EVERY):
        now, reason = time.monotonic(), gone()
        if reason is None:
            noticed = None
        elif noticed is None:
            noticed = now
        if reason is not None and noticed is not None and now - noticed >= grace:
            raise DistBackendError(f"{what}: it cannot be completed: {reason}")
        if now - began > limit.total_seconds():
            seconds = limit.total_seconds()
            raise DistBackendError(
                f"{what}: Timed out waiting {seconds * 1000:.0f}ms for the operation to complete"
            )
