"""Whether many things are the very objects that they were: by one call of machine code, or by Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter, is_
from typing import Any

import numpy as np

_content_of = attrgetter("cell_contents")
_MISSING = object()


class Sameness:
    """Places, each with the object that has to be there, and lists and dictionaries with their lengths."""

    def __init__(self) -> None:
        self.attributes: list[tuple[Any, str, Any]] = []
        self.cells: list[tuple[Any, Any]] = []
        self.items: list[tuple[dict[Any, Any], Any, Any]] = []
        self.entries: list[tuple[list[Any], int, Any]] = []
        self.lengths: list[tuple[Any, int]] = []

    # --- what is there now -----------------------------------------------------------------------------

    def attribute(self, name: str, holders: Iterable[Any]) -> None:
        """An attribute of several objects."""
        self.attributes += [(holder, name, getattr(holder, name)) for holder in holders]

    def item(self, holder: dict[Any, Any], *keys: Any) -> None:
        """Some items of a dictionary."""
        self.items += [(holder, key, holder[key]) for key in keys]

    def all_of(self, holder: list[Any]) -> None:
        """The entries of a list."""
        self.entries += [(holder, i, content) for i, content in enumerate(holder)]
        self.lengths.append((holder, len(holder)))

    def nest(self, value: Any, depth: int) -> bool:
        """What `frozen` looks at in lists and tuples; False where there is something that changes otherwise."""
        if not depth or not isinstance(value, (list, tuple, dict, set, frozenset, np.ndarray)):
            return True
        if type(value) is list:
            self.all_of(value)
        elif type(value) is not tuple:
            return False
        return all([self.nest(part, depth - 1) for part in value])  # noqa: C419 (all of them)

    def add(self, other: Sameness) -> None:
        """The places of another one."""
        self.attributes += other.attributes
        self.cells += other.cells
        self.items += other.items
        self.entries += other.entries
        self.lengths += other.lengths

    # --- whether it still is ---------------------------------------------------------------------------

    def natively(self) -> Callable[[], bool]:
        """A function that asks machine code."""
        from ..native import watching as kinds

        return kinds.watching(
            [
                *((kinds.ATTRIBUTE, holder, name, c) for holder, name, c in self.attributes),
                *((kinds.CELL, cell, None, content) for cell, content in self.cells),
                *((kinds.LENGTH, holder, None, length) for holder, length in self.lengths),
                *((kinds.ITEM, holder, key, content) for holder, key, content in self.items),
                *((kinds.ENTRY, holder, i, content) for holder, i, content in self.entries),
            ]
        )

    def by_python(self) -> Callable[[], bool]:
        """A function that needs no machine code."""
        holders, names, contents = _columns(self.attributes, 3)
        missing = [_MISSING] * len(holders)
        cells, of_cells = _columns(self.cells, 2)
        measured, lengths = _columns(self.lengths, 2)
        dictionaries, keys, values = _columns(self.items, 3)
        lists, numbers, entries = _columns(self.entries, 3)

        def same() -> bool:
            return (
                list(map(len, measured)) == lengths
                and all(map(is_, map(getattr, holders, names, missing), contents))
                and all(map(is_, map(_content_of, cells), of_cells))
                and all(map(is_, map(dict.get, dictionaries, keys), values))
                and all(map(is_, map(list.__getitem__, lists, numbers), entries))
            )

        return same


def _columns(rows: list[Any], count: int) -> list[list[Any]]:
    return [[row[i] for row in rows] for i in range(count)]
