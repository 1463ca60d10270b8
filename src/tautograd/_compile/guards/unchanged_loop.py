"""The usual case of a training loop: between two calls nothing has changed but step counts.

Then it is enough that everything is the very same object as at the last call, which machine code says in one
go, and an optimizer's numbers follow from the step count. Where something was replaced, Python looks more
closely; if it finds nothing wrong, what is there now is what has to stay. A thing that changes all the time is
looked at by Python all the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._autograd.modes import modes
from ..optimizers.updates import Update
from .identity import Sameness
from .outside_variables import DEPTH, OF_FUNCTIONS, frozen

_MODES = ("now", "recorder")
_LONGEST = 1024  # calls between two attempts to begin anew


def _never() -> bool:
    return False


class Steady:
    """What was there at the last call that Python looked at."""

    __slots__ = ("__dict__", "__weakref__", "counts", "home", "same", "settled")

    def __init__(self, entry: Any) -> None:
        found, guards = entry.capture, entry.guards
        self.native = entry.replay_of.asks_natively
        self.guards = guards
        self.home: Any = None  # the modes of the one thread for which this is known
        self.same: Callable[[], bool] = _never  # whether all is there; asked in that thread
        self.settled: Callable[[], bool] = _never  # whether optimizers' settings are
        self.counts: list[Callable[[], None]] = []  # do what optimizers do at a step
        self.updates = guards.updates
        self.can_count = not guards.fixed and all(isinstance(e, Update) for e in found.effects)
        self._looks = _Rarely()
        self._counts = _Rarely()

    def remember(self) -> None:
        """Everything holds: it is so as long as it stays as it is."""
        guards, variables, own = self.guards, self.guards.variables, modes.__dict__
        if self.home is not None and self.home is not own:
            return  # another thread has it
        if any(type(names) is not dict or key not in names for names, key, _ in variables.named):
            return  # a class's, which is no dictionary, or None because it is not there
        if not self._looks.is_time():
            return
        places = Sameness()
        places.attribute("_data", guards.tensors)
        places.attribute("_grad", [tensor for tensor, _ in guards.grads])
        places.cells += [(cell, cell.cell_contents) for _, cell, _ in variables.cells]
        for name in OF_FUNCTIONS:
            places.attribute(name, variables.functions)
        for kind, name in variables.methods:
            places.attribute(name, [kind])
        for members, name, _ in guards.modules.members:
            places.item(members, name)
        places.lengths += guards.modules.lengths
        for names, name, _ in variables.named:
            places.item(names, name)
        for update in self.updates:
            places.add(update.places)
        for mode in _MODES:
            own.setdefault(mode, getattr(modes, mode))
        places.item(own, *_MODES)
        parts = [(v, content) for _, v, content in variables.contents if not places.nest(v, DEPTH)]
        same = places.natively() if self.native else places.by_python()
        if parts:  # dictionaries, whose order counts, and arrays
            self.same = lambda: same() and all(frozen(v) == content for v, content in parts)
        else:
            self.same = same
        self.home = own

    def remember_settings(self) -> None:
        """The optimizers' settings are right: so they are as long as they stay as they are."""
        if not self.can_count or not self._counts.is_time():
            return
        counts = [update.counted() for update in self.updates]
        if None in counts:
            self.can_count = False
            return
        places = Sameness()
        for update in self.updates:
            places.item(update.real, *update.real)
        self.counts = counts
        self.settled = places.natively() if self.native else places.by_python()


class _Rarely:
    """Says when to try again: at once, then after ever more calls."""

    def __init__(self) -> None:
        self.wait = self.left = 1

    def is_time(self) -> bool:
        self.left -= 1
        if self.left:
            return False
        self.wait = self.left = min(2 * self.wait, _LONGEST)
        return True
