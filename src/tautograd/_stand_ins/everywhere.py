"""Replaces functions wherever they have been imported.

A user's module may have run `from torch.nn.utils import clip_grad_norm_` long before: every module
global that is the function is replaced as well, after one search through all of them. A module may import
the replacement while it is in place, and gets the original back when the last one is removed. That
needs another search only if it happened: only we created the replacement, so a reference to it
outside the known places shows in its refcount, and so does the absence of one.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .slots import Layer, Make, lock, wrapping


class _Known:
    """A function, its replacements, and where it is known."""

    def __init__(self, function: Any) -> None:
        self.function = self.top = function
        self.layers: list[Layer] = []
        self._all_layers: set[Layer] = (
            set()
        )  # a layer holds its replacement: references to that are counted
        self.stand_ins: dict[int, Any] = {}  # by identity: all that may have been imported instead
        self.places: dict[tuple[int, str], tuple[Any, str]] = {}  # by a module's namespace and name
        self.users = 0
        self._own_references = 0  # to the only replacement so far, from our own structures

    def enter(self, layer: Layer) -> None:
        self.layers.append(layer)
        self._all_layers.add(layer)

    def leave(self, layer: Layer) -> None:
        if layer in self.layers:
            self.layers.remove(layer)

    def refresh(self) -> None:
        self.top = self.function
        for layer in self.layers:
            self.top = layer.over(self.top)
            if id(self.top) not in self.stand_ins:
                self.stand_ins[id(self.top)] = self.top
                self._own_references = sys.getrefcount(self.top)  # one is `self.top`

    def is_known_at(self, module: Any, key: str) -> None:
        self.places[id(vars(module)), key] = module, key

    def may_be_elsewhere(self) -> bool:
        """Whether something unknown may hold a replacement; only False is certain."""
        if len(self.stand_ins) != 1:
            return bool(self.stand_ins)
        (made,) = self.stand_ins.values()
        held = sum(vars(module).get(key) is made for module, key in self.places.values())
        # `made` is one more, and `self.top` is one fewer while the original is in place.
        expected = self._own_references + 1 - (self.top is not made) + held
        return sys.getrefcount(made) != expected

    def put(self) -> None:
        for module, key in self.places.values():
            held = vars(module).get(key)
            if held is not self.top and self.is_ours(held):
                setattr(module, key, self.top)

    def is_ours(self, held: Any) -> bool:
        return held is self.function or id(held) in self.stand_ins


_known: dict[int, _Known] = {}  # by the identity of a function, or of its replacement
_searched: set[str] = set()  # modules that had finished executing when they were searched
_postponed: list[_Known] | None = None  # to be looked up at the end of `in_one_search`


@contextlib.contextmanager
def in_one_search() -> Iterator[None]:
    """Defers all replacements inside to the end, where one search serves them all.

    A search scans every global of every loaded module.
    """
    global _postponed
    with lock:
        if _postponed is not None:
            yield
            return
        waiting: list[_Known] = []
        _postponed = waiting
        try:
            yield
        finally:
            _postponed = None
            _settle(waiting)


class Functions:
    """A set of function replacements that can be switched on and off repeatedly."""

    def __init__(self) -> None:
        self._wanted: list[tuple[_Known, Layer]] = []
        self._is_on = False

    def add(self, module: Any, name: str, make: Make) -> None:
        """Add a function of a module, if it exists; `make` maps the original to the replacement."""
        function = getattr(module, name, None)
        if function is None:
            return
        with lock:
            known = _known.get(id(function))
            if known is None:
                known = _known[id(function)] = _Known(function)
                _searched.clear()  # no module has been searched for this one
            known.users += 1
            known.is_known_at(module, name)
            self._wanted.append((known, Layer(wrapping(make))))

    def on(self) -> None:
        """Install them, with one search through the modules that are new."""
        with lock:
            if not self._is_on and self._wanted:
                self._is_on = True
                self._change(_Known.enter)

    def off(self) -> None:
        """Remove them; another `on` is cheap."""
        with lock:
            if self._is_on:
                self._is_on = False
                self._change(_Known.leave)

    def end(self) -> None:
        """Remove them for good, wherever they have been imported meanwhile."""
        with lock:
            if not self._wanted:
                return
            if any(known.may_be_elsewhere() for known, _ in self._wanted):
                _searched.clear()
            self._is_on = False
            for known, _ in self._wanted:
                known.users -= 1
            self._change(_Known.leave)
            self._wanted = []

    def _change(self, change: Callable[[_Known, Layer], None]) -> None:
        for known, layer in self._wanted:
            change(known, layer)
            known.refresh()
            _known.update(dict.fromkeys(known.stand_ins, known))
        changed = [known for known, _ in self._wanted]
        if _postponed is None:
            _settle(changed)
        else:
            _postponed.extend(changed)


def _settle(changed: list[_Known]) -> None:
    """Install functions in all their places, and forget those no longer used."""
    unused = [known for known in changed if not known.users]
    if taken := any(known.may_be_elsewhere() for known in unused):
        _searched.clear()  # an already searched module may have imported it
    if taken or len(unused) < len(changed):
        _search()
    for known in changed:
        known.put()
    for known in changed:
        if not known.users:
            for key in (id(known.function), *known.stand_ins):
                _known.pop(key, None)


def _search() -> None:
    """Find the functions in modules not searched yet."""
    new = {name: module for name, module in list(sys.modules.items()) if name not in _searched}
    _searched.update(name for name, module in new.items() if not _is_running(name, module))
    for module, key, value in holders(new, _known):
        _known[id(value)].is_known_at(module, key)


def _is_running(name: str, module: Any) -> bool:
    """Whether a module is still executing, and so may import more."""
    spec = getattr(module, "__spec__", None)
    return name == "__main__" or spec is None or bool(getattr(spec, "_initializing", False))


def holders(
    modules: Mapping[str, Any], wanted: Mapping[int, Any] | Iterable[int]
) -> Iterator[tuple[Any, str, Any]]:
    """Module globals that are one of these objects, by identity: module, name and object.

    Most modules hold none of them, which is determined without a Python-level loop over the names.
    """
    identities = frozenset(wanted)
    for module in list(modules.values()):
        try:
            variables = vars(module)
            if identities.isdisjoint(map(id, list(variables.values()))):
                continue
            names = list(variables.items())
        except Exception:  # entries of `sys.modules` need not be modules, and may raise anything
            continue
        for key, value in names:
            if id(value) in identities:
                yield module, key, value
