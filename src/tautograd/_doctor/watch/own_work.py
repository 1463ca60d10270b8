"""The doctor's own work: it is not watched, and no mistake in it may stop the user's loop."""

from __future__ import annotations

import threading
from typing import Any


class Quiet(threading.local):
    """A context for the doctor's own work. What goes wrong in it is kept, not raised."""

    def __init__(self) -> None:
        self.depth = 0
        self.troubles: list[BaseException] = []

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        self.depth -= 1
        if error is None or not isinstance(error, Exception):
            return False
        if len(self.troubles) < 20:
            self.troubles.append(error)
        return True
