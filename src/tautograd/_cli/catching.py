"""Intercepts the requested backward pass of a running script, on either engine."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tautograd._view.view import View


class Seen(BaseException):
    """Raised in the script once the requested backward pass has run."""


class Catch:
    """Waits for the requested backward pass, on whichever engine it runs."""

    def __init__(self, skipped: int, changes: dict[int, dict[int, float]] | None = None) -> None:
        from tautograd._view.view import View, finished

        def made(collector: Any, flow: Any) -> View:
            return View(finished(collector, flow))

        self._made = made
        self.skipped, self.changes = skipped, changes or {}
        self.view: View | None = None
        self._watching: dict[str, Any] = {}

    @property
    def passes(self) -> int:
        return sum(one.passes for one in self._watching.values())

    def see(self, engine: ModuleType) -> None:
        from tautograd._view.record.backward_watch import Watching

        if engine.__name__ not in self._watching:
            made = Watching(engine, self._caught)
            made.skipped = self.skipped
            made.notes.leaf_uses.changes = self.changes
            self._watching[engine.__name__] = made
            made.start()

    def stop(self) -> None:
        for one in reversed(list(self._watching.values())):
            one.stop()

    def _caught(self, collector: Any, flow: Any) -> None:
        if self.view is None:
            self.view = self._made(collector, flow)
            for one in self._watching.values():
                one.is_resting = True
            raise Seen
