"""The doctor's own work: it is not watched, and no mistake in it may stop the user's loop."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
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
            # Its frames would keep the loop's tensors alive, with their graphs.
            self.troubles.append(error.with_traceback(None))
        return True

    @contextlib.contextmanager
    def unwatched(self) -> Iterator[None]:
        """The work of others that is no part of a loop; what goes wrong in it is theirs."""
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
