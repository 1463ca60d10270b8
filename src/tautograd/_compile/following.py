"""Which numbers among the arguments change from call to call, and symbols in their places while recording."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .scalars import FLOATS
from .symbols import Symbol

FORMS = 256  # of arguments that are remembered


class Changing:
    """The floats of each form of arguments: as they were last, which of them change, which must not."""

    def __init__(self) -> None:
        self._known: OrderedDict[Any, tuple[Any, set[int], set[int]]] = OrderedDict()

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

    def __init__(self, form: Any, scalars: Any) -> None:
        self.form = form
        self.scalars = scalars
        self._undo: list[tuple[Any, Any, Any, Any]] = []

    def put(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        form = self.form
        if not form.symbolic:
            return args, kwargs
        by = {i: self.scalars.input(form.floats[i]) for i in form.symbolic}
        numbers = iter(range(len(form.floats)))
        return _with(args, numbers, by, self._undo), _with(kwargs, numbers, by, self._undo)

    def take_back(self) -> None:
        """Numbers in their places again, also where the function has moved them."""
        for container, key, before, found in self._undo:
            if _at(container, key) is found:
                container[key] = before
            plain_again(container)
        self._undo.clear()


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
