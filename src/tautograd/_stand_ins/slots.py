"""Every name of a class or module that is replaced: what belongs there, and what stands in for it.

Those who replace the same name stand on top of each other, and may leave in any order: what is put in
place is made anew, from what belongs there, by those who stay. So nobody saves what another has put
there, and nobody brings it back. What somebody else puts there meanwhile is left as it is.

One lock for all of it, which is held across a fork: a child never finds a name half replaced.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any

Make = Callable[[Any], Any]
"""Gets what is there, and gives what is to stand in for it."""

ABSENT = object()
lock = threading.RLock()  # again by a signal's handler


def wrapping(make: Make) -> Make:
    """`make`, whose functions go by the name and documentation of those they stand in for."""
    return lambda below: functools.wraps(below)(make(below))


class Layer:
    """One who stands in for what is below."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._made: tuple[Any, Any] = ABSENT, ABSENT

    def over(self, below: Any) -> Any:
        """What stands in for this; the same again for the same."""
        made = self._made
        if made[0] is not below:
            made = self._made = below, self._make(below)
        return made[1]


class Slot:
    """A name of an owner."""

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name = owner, name
        self.key = id(owner), name
        self.layers: list[Layer] = []
        self._own = self._held()  # what belongs there; absent, if it is inherited
        self._ours = self._own  # what was put there last

    def _held(self) -> Any:
        if self.name == "__class__":
            return type(self.owner)
        return self.owner.__dict__.get(self.name, ABSENT)

    def belongs(self, value: Any) -> None:
        """Something else belongs there from now on."""
        self._own = value
        self.refresh()

    @property
    def is_ours(self) -> bool:
        """Whether nobody else has put something there meanwhile."""
        return self._held() is self._ours

    def refresh(self) -> None:
        """Let what is there be what those who stay make of what belongs there."""
        if self.is_ours:
            self.put()

    def put(self) -> None:
        """The same, where nobody else is known to have put something there."""
        new = self._own
        if self.layers and new is ABSENT:
            new = next(vars(c)[self.name] for c in self.owner.__mro__[1:] if self.name in vars(c))
        for layer in self.layers:
            new = layer.over(new)
        if new is self._ours:
            return
        if new is ABSENT:
            delattr(self.owner, self.name)
        else:
            setattr(self.owner, self.name, new)
        self._ours = new

    def taken_by(self, layer: Layer) -> bool:
        """Let a layer stand here alone, in one go; False where others stand, or what belongs there does not."""
        own = self._own
        if self.layers or self.owner.__dict__.get(self.name) is not own:
            return False
        self.layers.append(layer)
        new = self._ours = layer.over(own)
        setattr(self.owner, self.name, new)
        return True

    def left_by(self, layer: Layer) -> bool:
        """The other way round; False where it does not stand alone, or not what it put there."""
        if self.layers != [layer] or self.owner.__dict__.get(self.name) is not self._ours:
            return False
        if self._own is ABSENT:
            return False
        self.layers.clear()
        self._ours = self._own
        setattr(self.owner, self.name, self._own)
        return True


_slots: dict[tuple[int, str], Slot] = {}


def replace(owner: Any, name: str, make: Make) -> Callable[[], None]:
    """Have something stand in for a name of a class or module; gives what ends it."""
    layer = Layer(make)
    with lock:
        slot = _put(owner, name, layer)

    def end() -> None:
        with lock:
            _take(slot, layer)

    return end


def _put(owner: Any, name: str, layer: Layer, known: Slot | None = None) -> Slot:
    """Let a layer stand on a name; `known` is a slot that it had before. Under the lock."""
    slot = _slots.get((id(owner), name)) or known
    if slot is None or not slot.is_ours:  # what a user put there is what belongs there now
        slot = Slot(owner, name)
    _slots[slot.key] = slot
    slot.layers.append(layer)
    slot.put()
    return slot


def _take(slot: Slot, layer: Layer) -> None:
    """Take a layer from its name again. Under the lock."""
    if not slot.left_by(layer):
        if layer not in slot.layers:
            return
        slot.layers.remove(layer)
        slot.refresh()
    if not slot.layers and _slots.get(slot.key) is slot:
        del _slots[slot.key]


def rebase(owner: Any, name: str, value: Any, instead_of: tuple[Any, ...]) -> None:
    """Let something else of ours belong to a name; those who stand in for it stay on top."""
    with lock:
        slot = _slots.get((id(owner), name))
        if slot is not None and slot.is_ours:
            slot.belongs(value)
        elif vars(owner)[name] in instead_of:
            setattr(owner, name, value)


class WhileAnybody:
    """A context: names are replaced when the first enters it, in any thread, until the last leaves."""

    def __init__(self, names: Callable[[], Iterable[tuple[Any, str, Make]]]) -> None:
        self._names = names
        self._inside = 0
        self._known: dict[tuple[int, str], tuple[Make, Layer, Slot]] = {}  # of the last time
        self._standing: list[tuple[Slot, Layer]] = []

    def __enter__(self) -> None:
        with lock:
            if not self._inside:
                try:
                    self._begin()
                except BaseException:  # Ctrl-C
                    self._end()
                    raise
            self._inside += 1

    def _begin(self) -> None:
        for owner, name, make in self._names():
            key = id(owner), name
            known = self._known.get(key)
            if known is None or known[0] is not make:
                layer = Layer(make)
                slot = _put(owner, name, layer)
                self._known[key] = make, layer, slot
            else:  # entered often, made once
                _, layer, slot = known
                if key not in _slots and slot.taken_by(layer):
                    _slots[key] = slot
                else:
                    slot = _put(owner, name, layer, slot)
                    self._known[key] = make, layer, slot
            self._standing.append((slot, layer))

    def __exit__(self, *error: object) -> None:
        with lock:
            if not self._inside:
                return  # entered before a fork, and left in the child
            self._inside -= 1
            if not self._inside:
                self._end()

    def _end(self) -> None:
        while self._standing:
            _take(*self._standing.pop())

    def stop_in_child(self) -> None:
        """After a fork: all is as ever, whatever the parent was doing."""
        self._inside = 0
        self._end()


def _let_go() -> None:
    with contextlib.suppress(RuntimeError):  # Ctrl-C came before a fork had it
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=lock.acquire, after_in_parent=_let_go, after_in_child=_let_go)
