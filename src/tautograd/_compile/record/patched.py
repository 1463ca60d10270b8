"""What is put in place of Python's or this package's own while anybody records, in whichever thread."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Replaced:
    """A context: the first to enter puts something in place, the last to leave takes it away."""

    def __init__(self, put: Callable[[], None], take_away: Callable[[], None]) -> None:
        self._put = put
        self._take_away = take_away
        self._lock = threading.RLock()
        self._active = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._active:
                self._put()
            self._active += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            if not self._active:
                return  # entered before a fork, and left in the child
            self._active -= 1
            if not self._active:
                self._take_away()

    def stop_in_child(self) -> None:
        """After a fork: all is as ever, whatever the parent was doing."""
        if self._active:
            self._take_away()
        self._active, self._lock = 0, threading.RLock()
