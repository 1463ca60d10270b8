"""Runs in different states: the same call again, in another thread, and after one that raised.

A rule that keeps state gives right gradients until it has kept the wrong thing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..._stand_ins.function_mode import FunctionMode
from .comparing import Difference, difference
from .inputs import _alike
from .problem import Problem, Rows

_AGAIN = 12
_PLACES = 4  # places in a call at which an error is raised


class _Interrupted(RuntimeError):
    """Raised inside a call on purpose."""


class States:
    """A problem run from other states."""

    def __init__(self, problem: Problem, sent: Sequence[Any], plain: Rows) -> None:
        self.problem, self.sent, self.plain = problem, sent, plain
        self.leaves = problem.leaves()

    def differences(self, stop: Callable[[], bool]) -> Iterator[Any]:
        """Yield what is tried: its name, and a `Difference` where it goes wrong."""
        found = None
        for count in range(_AGAIN):
            found = self._compared(f"call {count + 2} with the same inputs", self._run())
            if found is not None or stop():
                break
        yield "a later call", found
        for kind, run in (
            ("in another thread", lambda: _elsewhere(self._run)),
            ("backward in another thread", self._backward_elsewhere),
        ):
            if stop():
                return
            yield kind, self._compared(kind, run())
        yield "after an exception", self._after_an_exception()

    def _run(self) -> tuple[Rows, list[Any]]:
        asked, outputs = self.problem.recorded(self.leaves)
        return self.problem.pulled(asked, outputs, self.sent), outputs

    def _backward_elsewhere(self) -> tuple[Rows, list[Any]]:
        asked, outputs = self.problem.recorded(self.leaves)
        rows: Rows = _elsewhere(lambda: self.problem.pulled(asked, outputs, self.sent))
        return rows, outputs

    def _compared(self, kind: str, result: tuple[Rows, list[Any]]) -> Difference | None:
        found, outputs = result
        _, here = self.problem.recorded(self.leaves)
        if not _alike(outputs, here, self.problem.epsilon):
            return None  # thread-local context (autocast, say) makes it a different function
        # The same numbers by the same rule: all rounding is identical.
        exact: Rows = [None] * len(found)
        return difference(self.problem, kind, found, self.plain, self.plain, lambda: exact)

    def _after_an_exception(self) -> Difference | None:
        for place in range(1, _PLACES + 1):
            if not self._raises_at(place):
                return None
            found = self._compared("after an exception inside of it", self._run())
            if found is not None:
                return found
        return None

    def _raises_at(self, place: int) -> bool:
        """Whether it was interrupted at its `place`-th operation; false if it has fewer."""
        calls = 0

        def see(function: Any, args: Any, kwargs: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == place:
                raise _Interrupted("interrupted on purpose")
            return function(*args, **kwargs)

        try:
            with FunctionMode(self.problem.engine, see):
                self.problem.recorded(self.leaves)
        except _Interrupted:
            return True
        except Exception:  # it wrapped the error in one of its own
            return calls >= place
        return False


def _elsewhere(work: Callable[[], Any]) -> Any:
    """Run some work in a new thread and return its result."""
    results: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
