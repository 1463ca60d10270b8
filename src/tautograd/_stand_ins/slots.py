"""Every patched name of a class or module: the original and its replacements.

Patches of the same name are stacked, and may be removed in any order: the installed value is
recomputed from the original by the remaining ones. So nobody saves another's patch
as the original, and nobody restores it. What others assign there meanwhile is left unchanged.

One lock covers all of it and is held across a fork: a child never finds a name half patched.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any

Make = Callable[[Any], Any]
"""Receives the current value, and returns its replacement."""

ABSENT = object()
lock = threading.RLock()  # reentrant: a signal handler may patch, too


def wrapping(make: Make) -> Make:
    """`make`, whose functions get the name and documentation of those they replace."""
    return lambda below: functools.wraps(below)(make(below))


class Layer:
    """One replacement for what is below."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._made: tuple[Any, Any] = ABSENT, ABSENT

    def over(self, below: Any) -> Any:
        """The replacement for this value; cached."""
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
        self._own = self._held()  # the original; absent if it is inherited
        self._ours = self._own  # what we installed last

    def _held(self) -> Any:
        if self.name == "__class__":
            return type(self.owner)
        return self.owner.__dict__.get(self.name, ABSENT)

    def belongs(self, value: Any) -> None:
        """Make something else the original from now on."""
        self._own = value
        self.refresh()

    @property
    def is_ours(self) -> bool:
        """Whether nobody else has assigned to it meanwhile."""
        return self._held() is self._ours

    def refresh(self) -> None:
        """Recompute the value from the original and the remaining layers."""
        if self.is_ours:
            self.put()

    def put(self) -> None:
        """The same, if nobody else is known to have assigned to it."""
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
        """Install a single layer, in one step; False if there are others, or the original is not in place."""
        own = self._own
        if self.layers or self.owner.__dict__.get(self.name) is not own:
            return False
        self.layers.append(layer)
        new = self._ours = layer.over(own)
        setattr(self.owner, self.name, new)
        return True

    def left_by(self, layer: Layer) -> bool:
        """The reverse; False if the layer is not the only one, or its replacement is not in place."""
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
    """Replace a name of a class or module; returns the function that ends it."""
    layer = Layer(make)
    with lock:
        slot = _put(owner, name, layer)

    def end() -> None:
        with lock:
            _take(slot, layer)

    return end


def _put(owner: Any, name: str, layer: Layer, known: Slot | None = None) -> Slot:
    """Add a layer to a name; `known` is a slot that it had before. Requires the lock."""
    slot = _slots.get((id(owner), name)) or known
    if slot is None or not slot.is_ours:  # a value assigned by the user is the new original
        slot = Slot(owner, name)
    _slots[slot.key] = slot
    slot.layers.append(layer)
    slot.put()
    return slot


def _take(slot: Slot, layer: Layer) -> None:
    """Remove a layer from its name. Requires the lock."""
    if not slot.left_by(layer):
        if layer not in slot.layers:
            return
        slot.layers.remove(layer)
        slot.refresh()
    if not slot.layers and _slots.get(slot.key) is slot:
        del _slots[slot.key]


def rebase(owner: Any, name: str, value: Any, instead_of: tuple[Any, ...]) -> None:
    """Replace the original of a name with something else of ours; layers stay on top."""
    with lock:
        slot = _slots.get((id(owner), name))
        if slot is not None and slot.is_ours:
            slot.belongs(value)
        elif vars(owner)[name] in instead_of:
            setattr(owner, name, value)


class WhileAnybody:
    """A context: names are patched when the first thread enters it, until the last leaves."""

    def __init__(self, names: Callable[[], Iterable[tuple[Any, str, Make]]]) -> None:
        self._names = names
        self._inside = 0
        self._known: dict[tuple[int, str], tuple[Make, Layer, Slot]] = {}  # from the last time
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
            else:  # entered often, created once
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
                return  # entered before a fork, and exited in the child
            self._inside -= 1
            if not self._inside:
                self._end()

    def _end(self) -> None:
        while self._standing:
            _take(*self._standing.pop())

    def stop_in_child(self) -> None:
        """After a fork: restore everything, whatever the parent was doing."""
        self._inside = 0
        self._end()


def _let_go() -> None:
    with contextlib.suppress(RuntimeError):  # Ctrl-C came before a fork acquired it
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=lock.acquire, after_in_parent=_let_go, after_in_child=_let_go)
