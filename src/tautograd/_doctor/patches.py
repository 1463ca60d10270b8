"""Putting a function of one's own in the place of another, everywhere it is known, and back.

A user's module may have said `from torch.nn.utils import clip_grad_norm_` long before: every module's
global that is the function is replaced as well, and all of it is put back at the end.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
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
        for other in list(sys.modules.values()):
            try:
                found = [(key, value) for key, value in vars(other).items() if id(value) in waiting]
            except Exception:  # a module that is no module
                continue
            for key, value in found:
                self._put(other, key, value, waiting[id(value)][1])

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
