"""Functions replaced wherever they are known.

A user's module may have said `from torch.nn.utils import clip_grad_norm_` long before: every module's
global that is the function is replaced as well, after one search through all of them. A module may take
what stands in for it while that is in place, and gets the function itself when the last one leaves. That
needs another search only if somebody did: nobody but us has made what stands in, so a reference to it
that is not in one of the known places shows in its reference count, and no such reference shows as well.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .slots import Layer, Make, lock, wrapping


class _Known:
    """A function, who stands in for it, and where it is known."""

    def __init__(self, function: Any) -> None:
        self.function = self.top = function
        self.layers: list[Layer] = []
        self._all_layers: set[Layer] = (
            set()
        )  # a layer holds what it made: its references are counted
        self.stand_ins: dict[int, Any] = {}  # by identity: all that may have been taken for it
        self.places: dict[tuple[int, str], tuple[Any, str]] = {}  # by a module's variables and name
        self.users = 0
        self._own_references = 0  # to the only stand-in there has been, from what we keep

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
        """Whether something may hold a stand-in that is not known to; sure of it only when it is False."""
        if len(self.stand_ins) != 1:
            return bool(self.stand_ins)
        (made,) = self.stand_ins.values()
        held = sum(vars(module).get(key) is made for module, key in self.places.values())
        # `made` is one more, and `self.top` is one less when the function itself is in place.
        expected = self._own_references + 1 - (self.top is not made) + held
        return sys.getrefcount(made) != expected

    def put(self) -> None:
        for module, key in self.places.values():
            held = vars(module).get(key)
            if held is not self.top and self.is_ours(held):
                setattr(module, key, self.top)

    def is_ours(self, held: Any) -> bool:
        return held is self.function or id(held) in self.stand_ins


_known: dict[int, _Known] = {}  # by the identity of a function, or of what stands in for it
_searched: set[str] = set()  # modules that have run to their end before they were searched
_postponed: list[_Known] | None = None  # whose places are looked for at the end of `in_one_search`


@contextlib.contextmanager
def in_one_search() -> Iterator[None]:
    """All that goes on, off or ends inside is put in its places at the end, in one search.

    A search looks at every global of every module that is loaded.
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
    """Functions that stand in for others while this is on; it may go on and off again and again."""

    def __init__(self) -> None:
        self._wanted: list[tuple[_Known, Layer]] = []
        self._is_on = False

    def add(self, module: Any, name: str, make: Make) -> None:
        """A function of a module, if it has it; `make` gets the original and gives the new one."""
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
        """Put them in place, in one search through the modules that are new."""
        with lock:
            if not self._is_on and self._wanted:
                self._is_on = True
                self._change(_Known.enter)

    def off(self) -> None:
        """Take them away; another `on` costs little."""
        with lock:
            if self._is_on:
                self._is_on = False
                self._change(_Known.leave)

    def end(self) -> None:
        """Take them away for good, wherever they have been taken meanwhile."""
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
    """Put functions in all their places, and forget those that nobody uses any more."""
    unused = [known for known in changed if not known.users]
    if taken := any(known.may_be_elsewhere() for known in unused):
        _searched.clear()  # by a module that has been searched, it may be
    if taken or len(unused) < len(changed):
        _search()
    for known in changed:
        known.put()
    for known in changed:
        if not known.users:
            for key in (id(known.function), *known.stand_ins):
                _known.pop(key, None)


def _search() -> None:
    """Find the functions in modules that have not been searched yet."""
    new = {name: module for name, module in list(sys.modules.items()) if name not in _searched}
    _searched.update(name for name, module in new.items() if not _is_running(name, module))
    for module, key, value in holders(new, _known):
        _known[id(value)].is_known_at(module, key)


def _is_running(name: str, module: Any) -> bool:
    """Whether a module may import more at any time."""
    spec = getattr(module, "__spec__", None)
    return name == "__main__" or spec is None or bool(getattr(spec, "_initializing", False))


def holders(
    modules: Mapping[str, Any], wanted: Mapping[int, Any] | Iterable[int]
) -> Iterator[tuple[Any, str, Any]]:
    """Modules' globals that are one of these objects, by identity: module, name and object.

    Most modules hold none of them, which is found out without a step of Python's for each name.
    """
    identities = frozenset(wanted)
    for module in list(modules.values()):
        try:
            variables = vars(module)
            if identities.isdisjoint(map(id, list(variables.values()))):
                continue
            names = list(variables.items())
        except Exception:  # what is in `sys.modules` need not be a module, and may raise anything
            continue
        for key, value in names:
            if id(value) in identities:
                yield module, key, value
