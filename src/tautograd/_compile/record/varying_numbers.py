"""Which numbers change from call to call, and symbols in their places while recording.

Numbers among the arguments, and those that a function reads by name: of a closure, a global variable, an attribute.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .symbolic_numbers import FLOATS
from .symbols import Symbol

FORMS = 256  # of arguments that are remembered


class Spot:
    """Where a function finds a number by name: a cell of a closure, or a dictionary with names in it."""

    __slots__ = ("holder", "name")

    def __init__(self, holder: Any, name: str | None) -> None:
        self.holder = holder
        self.name = name

    @property
    def key(self) -> tuple[int, str | None]:
        return id(self.holder), self.name

    def look(self) -> Any:
        if self.name is not None:
            return self.holder.get(self.name)
        try:
            return self.holder.cell_contents
        except ValueError:  # a variable that was deleted
            return None

    def put(self, value: Any) -> None:
        if self.name is None:
            self.holder.cell_contents = value
        else:
            self.holder[self.name] = value


class Changing:
    """The floats of each form of arguments: as they were last, which of them change, which must not.

    `spots` are places that hold another float than they did, except those whose value was asked for.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[Any, tuple[Any, set[int], set[int]]] = OrderedDict()
        self._spots: dict[Any, Spot | None] = {}

    def note(self, spots: list[Spot]) -> None:
        """Numbers that a record found changed."""
        for spot in spots:
            self._spots.setdefault(spot.key, spot)

    def among(self, spots: list[Spot]) -> list[Spot]:
        """Those of the places that a function reads which change, and may."""
        found = {s.key: s for s in spots if self._spots.get(s.key) and type(s.look()) in FLOATS}
        return list(found.values())

    def fix_spots(self, spots: Any) -> None:
        """Let a record depend on what is there."""
        self._spots.update((spot.key, None) for spot in spots)

    def settle(self, form: Any) -> None:
        """Say which floats of a call are inputs: those that were others in an earlier one."""
        bits = form.bits()
        last, changing, fixed = self._known.pop(form.loose, (bits, set(), set()))
        changing.update(i for i, (a, b) in enumerate(zip(bits, last, strict=True)) if a != b)
        self._known[form.loose] = bits, changing, fixed
        if len(self._known) > FORMS:
            self._known.popitem(last=False)
        if not form.is_shared and changing - fixed:
            form.follow(changing - fixed)

    def fix(self, form: Any, numbers: Any) -> None:
        """Let these be part of the form from now on: a record depends on their values."""
        if form.loose in self._known:
            self._known[form.loose][2].update(numbers)
        form.follow(set(form.symbolic) - set(numbers))


class Places:
    """Arguments with symbols for the floats that are inputs; lists and dictionaries are put right afterwards."""

    def __init__(self, form: Any, spots: list[Spot], scalars: Any) -> None:
        self.form = form
        self.spots = spots
        self.scalars = scalars
        self._before: list[tuple[Spot, Any, Any]] = []
        self._undo: list[tuple[Any, Any, Any, Any]] = []

    def put(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        form = self.form
        by = {i: self.scalars.input(form.floats[i]) for i in form.symbolic}
        if by:
            numbers = iter(range(len(form.floats)))
            args = _with(args, numbers, by, self._undo)
            kwargs = _with(kwargs, numbers, by, self._undo)
        for spot in self.spots:
            value = spot.look()
            self._before.append((spot, value, self.scalars.input(value)))
            spot.put(self._before[-1][2])
        return args, kwargs

    def take_back(self) -> None:
        """Numbers in their places again, also where the function has moved them."""
        for container, key, before, found in self._undo:
            if _at(container, key) is found:
                container[key] = before
            plain_again(container)
        self._undo.clear()
        for spot, value, symbol in self._before:
            if spot.look() is symbol:
                spot.put(value)
        self._before.clear()


def _with(value: Any, numbers: Any, by: dict[int, Any], undo: list[Any]) -> Any:
    kind = type(value)
    if kind in FLOATS:
        return by.get(next(numbers), value)
    if isinstance(value, tuple):
        parts = [_with(part, numbers, by, undo) for part in value]
        if all(a is b for a, b in zip(parts, value, strict=True)):
            return value
        return kind(*parts) if hasattr(value, "_fields") else kind(parts)
    if kind in (list, dict):
        for key, part in list(enumerate(value) if kind is list else value.items()):
            found = _with(part, numbers, by, undo)
            if found is not part:
                undo.append((value, key, part, found))
                value[key] = found
    return value


def _at(container: Any, key: Any) -> Any:
    try:
        return container[key]
    except (IndexError, KeyError):  # the function has taken it away
        return None


def plain_again(container: Any) -> None:
    """Numbers in place of symbols that a function left in a list or a dictionary."""
    pairs = container.items() if isinstance(container, dict) else enumerate(container)
    for key, value in list(pairs):
        if type(value) is Symbol:
            container[key] = value.value
