"""Leaves as they enter the graph: in which order, and what a reader of a live page wants them to hold."""

from __future__ import annotations

import weakref
from typing import Any


class LeafUses:
    """A leaf is counted when it is first used while recording; writing its first values is no use of it.

    The order is the same whenever the program runs, so a leaf can be named by it in another process.
    """

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.changes: dict[int, dict[int, float]] = {}  # by place in the order: entries and values
        self._places: dict[int, tuple[int, Any]] = {}

    def use(self, leaf: Any) -> None:
        """Note a use; before the first one, changes are written."""
        if self.place(leaf) >= 0:
            return
        place = len(self._places)
        self._places[id(leaf)] = place, weakref.ref(leaf)
        with self._engine.no_grad():
            for entry, value in self.changes.get(place, {}).items():
                leaf.detach().view(-1)[entry] = value

    def place(self, leaf: Any) -> int:
        """As which of all leaves it was first used; -1 for one that was not."""
        place, known = self._places.get(id(leaf), (-1, None))
        return place if known is not None and known() is leaf else -1

    def forget(self) -> None:
        self._places.clear()
