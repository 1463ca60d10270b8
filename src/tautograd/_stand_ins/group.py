"""The patches and hooks of one part of the kit, removed together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .everywhere import Functions
from .slots import Make, replace, wrapping


class StandIns:
    """Methods, functions and hooks; `end()` removes all of them."""

    def __init__(self) -> None:
        self._ends: list[Callable[[], None]] = []
        self._functions = Functions()

    def method(self, owner: type, name: str, make: Make) -> None:
        """Replace a method of a class; `make` receives the original and returns the replacement."""
        self._ends.append(replace(owner, name, wrapping(make)))

    def member(self, owner: type, name: str, make: Make) -> None:
        """The same for anything but plain methods: `make` receives and returns the class attribute itself."""
        self._ends.append(replace(owner, name, make))

    def function(self, module: Any, name: str, make: Make) -> None:
        """Replace a function of a module, and with `everywhere()` wherever else it was imported."""
        self._functions.add(module, name, make)

    def everywhere(self) -> None:
        """Install the functions in all places, with one search through the loaded modules."""
        self._functions.on()

    def handle(self, handle: Any) -> None:
        """Register a hook's handle, to be removed."""
        self._ends.append(handle.remove)

    def end(self) -> None:
        while self._ends:
            self._ends.pop()()
        self._functions.end()
