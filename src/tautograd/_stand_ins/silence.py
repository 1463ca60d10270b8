"""Suppresses or records this thread's warnings for a while, without affecting other threads.

`warnings.catch_warnings` replaces the filters of the whole process, and two threads that exit it in the
order in which they entered leave one's filters behind for good. Here a single filter is inserted in front
while any thread is inside, and it matches only in those that are.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator
from typing import Any

from .slots import WhileAnybody, lock


class _Depth(threading.local):
    inside = 0


class _Matches:
    """Takes the place of a filter's message pattern."""

    def __init__(self, depth: _Depth) -> None:
        self._depth = depth

    def match(self, text: str) -> bool:
        return self._depth.inside > 0


class _InFront:
    """A context in which a filter for this thread's warnings precedes all others."""

    def __init__(self, action: str) -> None:
        self._depth = _Depth()
        self._filter: Any = (action, _Matches(self._depth), Warning, None, 0)
        self._inside = 0
        self._filters: Any = None  # the list it was inserted in; a user may have replaced it

    def __enter__(self) -> None:
        depth = self._depth
        if depth.inside and warnings.filters and warnings.filters[0] is self._filter:
            depth.inside += 1  # fast path: nested in itself
            return
        with lock:
            if not self._inside:
                self._filters = warnings.filters
            if self._filter not in warnings.filters[:1]:
                self._remove()
                self._filters.insert(0, self._filter)
                _changed()
            if not depth.inside:
                self._inside += 1  # threads
        depth.inside += 1

    def __exit__(self, *error: object) -> None:
        depth = self._depth
        depth.inside -= 1
        if depth.inside:
            return
        with lock:
            self._inside -= 1
            if not self._inside:
                self._remove()

    def _remove(self) -> None:
        lists: tuple[Any, ...] = (self._filters, warnings.filters)
        for filters in lists:
            while self._filter in filters:
                filters.remove(self._filter)
        self._filters = warnings.filters
        _changed()


def _changed() -> None:
    """Invalidate Python's cached decisions about warnings."""
    tell = getattr(warnings, "_filters_mutated", None)
    if tell is not None:
        tell()


class WithoutWarnings(_InFront):
    """A context in which this thread's warnings are not shown."""

    def __init__(self) -> None:
        super().__init__("ignore")


without_warnings = WithoutWarnings()
_every_warning = _InFront("always")


class _Lists(threading.local):
    """The lists that record this thread's warnings, the innermost last."""

    def __init__(self) -> None:
        self.open: list[list[warnings.WarningMessage]] = []


_lists = _Lists()


def _showing(below: Any) -> Any:
    def showwarning(
        message: Any, category: Any, filename: Any, lineno: Any, file: Any = None, line: Any = None
    ) -> None:
        if _lists.open:
            _lists.open[-1].append(
                warnings.WarningMessage(message, category, filename, lineno, file, line)
            )
        else:
            below(message, category, filename, lineno, file, line)

    return showwarning


_written_down = WhileAnybody(lambda: [(warnings, "showwarning", _showing)])


@contextlib.contextmanager
def caught_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Inside, all of this thread's warnings are recorded and not shown."""
    caught: list[warnings.WarningMessage] = []
    with _written_down, _every_warning:
        _lists.open.append(caught)
        try:
            yield caught
        finally:
            _lists.open.pop()
