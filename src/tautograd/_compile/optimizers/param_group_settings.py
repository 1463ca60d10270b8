"""Settings of optimizers that the function itself writes (`group["lr"] = lr`): they are written again at a replay.

What a scheduler does is noted as it is done. A plain assignment to a group's dictionary is not seen, so settings
are compared with what they were, whenever an optimizer is about to step and at the end: by identity, for a function
that writes what is there already would write it again after somebody else has written something. So numbers are made
objects of their own before the function runs, and put back when it has run: loops in which nothing changes are known
by their objects (`guards/unchanged_loop.py`).
"""

from __future__ import annotations

import operator
from typing import Any

from ..._tensor.tensor import Tensor
from ..program.ir import Late
from ..record.symbols import Symbol, has_symbols, without_symbols


class Settings:
    """The optimizers that a function can reach, and their groups' settings as they were last seen."""

    def __init__(self, optimizers: list[Any]) -> None:
        self.optimizers = list({id(o): o for o in optimizers}.values())
        self._seen: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._written: dict[int, dict[str, Any]] = {}  # by the group's id: the optimizer holds it
        self._replaced: list[tuple[dict[str, Any], str, Any, Any]] = []  # group, name, before, own
        for optimizer in self.optimizers:
            self._make_own(optimizer)
        self.look()

    def look(self) -> None:
        """Remember settings as they are now."""
        groups = [group for optimizer in self.optimizers for group in optimizer.param_groups]
        self._seen = [(group, _plain(group)) for group in groups]

    def know(self, optimizer: Any) -> None:
        """An optimizer that steps, and was not found before the function ran."""
        if not any(optimizer is other for other in self.optimizers):
            self.optimizers.append(optimizer)
            self._make_own(optimizer)
            self._seen += [(group, _plain(group)) for group in optimizer.param_groups]

    def _make_own(self, optimizer: Any) -> None:
        """Let floats, and tuples of numbers, be objects that nobody else has."""
        for group in optimizer.param_groups:
            for name, value in _plain(group).items():
                if type(value) in (float, tuple):
                    group[name] = value * 1.0 if type(value) is float else (*value,)
                    self._replaced.append((group, name, value, group[name]))

    def put_back(self) -> None:
        """The function has run: what it did not write is the object again that it was."""
        for group, name, before, own in self._replaced:
            if group.get(name) is own:
                group[name] = before
        self._replaced.clear()

    def written_in(self, group: dict[str, Any]) -> dict[str, Any]:
        """The settings of a group that the function has written so far."""
        return dict(self._written.get(id(group), {}))

    def changes(self, scalars: Any) -> list[Any]:
        """What the function has set since: functions that set it again, with the numbers of their call."""
        found = []
        for group, before in self._seen:
            for name, value in _plain(group).items():
                if has_symbols(value):
                    group[name] = without_symbols(value)
                    found.append(Setting(group, name, _late(scalars, value)))
                elif name not in before or _number(before[name]) is not value:
                    found.append(Setting(group, name, value))
                else:
                    continue
                self._written.setdefault(id(group), {})[name] = group[name]
        self.look()  # also to let go of symbols that were put back
        return found

    def pin(self, optimizer: Any, scalars: Any, computed: bool) -> None:
        """Let the record hold for settings that choose the formula, and for all that are no inputs of it."""
        for group in optimizer.param_groups:
            for name, value in _plain(group).items():
                if type(value) is not Symbol or not computed:
                    scalars.pin(value if isinstance(value, (tuple, list)) else (value,))
                elif name != "lr":
                    for compare in (operator.ne, operator.gt):
                        scalars.compute(compare, (value, 0))


def settings_of(effects: list[Any]) -> dict[tuple[int, str], Any]:
    """What is written to settings in the end, by the group and the name."""
    return {(id(e.group), e.name): e.value for e in effects if isinstance(e, Setting)}


def _plain(group: dict[str, Any]) -> dict[str, Any]:
    """The settings of a group that are no tensors."""
    return {k: v for k, v in group.items() if k != "params" and not isinstance(v, Tensor)}


def _number(value: Any) -> Any:
    """What is put in a symbol's place again when the function has run."""
    return value.value if type(value) is Symbol else value


def _late(scalars: Any, value: Any) -> Any:
    if type(value) is Symbol:
        return scalars.late(value)
    return without_symbols(value)  # a pair, whose numbers are constants


class Setting:
    """A setting that is written again."""

    __slots__ = ("group", "name", "value")

    def __init__(self, group: dict[str, Any], name: str, value: Any) -> None:
        self.group = group
        self.name = name
        self.value = value

    def __call__(self) -> None:
        self.group[self.name] = self.value.value if isinstance(self.value, Late) else self.value
