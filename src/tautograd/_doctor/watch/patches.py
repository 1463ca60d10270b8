"""Putting a function of one's own in the place of another, everywhere it is known, and back.

A user's module may have said `from torch.nn.utils import clip_grad_norm_` long before: every module's
global that is the function is replaced as well, and all of it is put back at the end.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any


class Patches:
    """What was replaced, to be undone in the opposite order."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._waiting: dict[int, tuple[Any, Any]] = {}  # functions to be replaced, by identity

    def method(self, owner: type, name: str, make: Callable[[Any], Any]) -> None:
        """Replace a method of a class; `make` gets the original and gives the new one."""
        inherited = name not in vars(owner)
        original = getattr(owner, name)
        held = vars(owner).get(name)
        setattr(owner, name, functools.wraps(original)(make(original)))
        if inherited:
            self._undo.append(lambda: delattr(owner, name))
        else:
            self._undo.append(lambda: setattr(owner, name, held))

    def function(self, module: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replace a function of a module, and wherever else it was imported to, by `everywhere()`."""
        original = getattr(module, name, None)
        if original is None:
            return
        self._waiting[id(original)] = original, functools.wraps(original)(make(original))

    def everywhere(self) -> None:
        """Put the functions in their places, all in one search through the loaded modules."""
        waiting, self._waiting = self._waiting, {}
        for module, key, value in _holders(sys.modules, waiting):
            self._put(module, key, value, waiting[id(value)][1])

    def _put(self, module: Any, key: str, original: Any, replacement: Any) -> None:
        setattr(module, key, replacement)

        def back() -> None:
            if getattr(module, key, None) is replacement:
                setattr(module, key, original)

        self._undo.append(back)

    def handle(self, handle: Any) -> None:
        """A hook's handle, to be removed."""
        self._undo.append(handle.remove)

    def undo(self) -> None:
        while self._undo:
            self._undo.pop()()


class Switch:
    """Functions that are replaced wherever they are known, and put back, again and again.

    What is loaded while they are replaced, or while they are not, is found the next time.
    """

    def __init__(self) -> None:
        self._pairs: dict[
            int, tuple[Any, Any]
        ] = {}  # original and replacement, by either's identity
        self._places: dict[Any, tuple[Any, str, Any, Any]] = {}
        self._searched: set[str] = set()  # modules

    def function(self, module: Any, name: str, make: Callable[[Any], Any]) -> None:
        """A function of a module; `make` gets the original and gives the new one."""
        original = getattr(module, name, None)
        if original is not None:
            replacement = functools.wraps(original)(make(original))
            self._pairs[id(original)] = self._pairs[id(replacement)] = original, replacement

    def on(self) -> None:
        self._search()
        for module, key, original, replacement in self._places.values():
            if vars(module).get(key) is original:
                setattr(module, key, replacement)

    def off(self) -> None:
        self._search()
        for module, key, original, replacement in self._places.values():
            if vars(module).get(key) is replacement:
                setattr(module, key, original)

    def _search(self) -> None:
        new = sys.modules.keys() - self._searched
        self._searched |= new - {"__main__"}  # which may import more at any time
        loaded = {name: sys.modules[name] for name in new}
        for module, key, value in _holders(loaded, self._pairs):
            self._places[id(module), key] = (module, key, *self._pairs[id(value)])


def _holders(
    modules: Mapping[str, Any], wanted: Mapping[int, Any]
) -> Iterator[tuple[Any, str, Any]]:
    """Modules' globals that are one of these objects, by identity: module, name and object."""
    for module in list(modules.values()):
        try:
            held = vars(module)
            if wanted.keys().isdisjoint(map(id, held.values())):  # most of some thousand modules
                continue
            found = [(key, value) for key, value in held.items() if id(value) in wanted]
        except Exception:  # a module that is no module
            continue
        for key, value in found:
            yield module, key, value
