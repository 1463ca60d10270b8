"""The order in which leaves enter the graph, and the values that a live page's reader gives them."""

from __future__ import annotations

import weakref
from typing import Any


class LeafUses:
    """Counts a leaf at its first use while recording; initialising it is not a use.

    The order is the same in every run of the program, so it identifies a leaf in another process.
    """

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.changes: dict[int, dict[int, float]] = {}  # by first use: entries, values
        self._places: dict[int, tuple[int, Any]] = {}

    def use(self, leaf: Any) -> None:
        """Record a use; before the first one, apply the changes."""
        if self.place(leaf) >= 0:
            return
        place = len(self._places)
        self._places[id(leaf)] = place, weakref.ref(leaf)
        with self._engine.no_grad():
            for entry, value in self.changes.get(place, {}).items():
                leaf.detach().view(-1)[entry] = value

    def place(self, leaf: Any) -> int:
        """Its position in the order of first use; -1 if it was not used."""
        place, known = self._places.get(id(leaf), (-1, None))
        return place if known is not None and known() is leaf else -1

    def forget(self) -> None:
        self._places.clear()
