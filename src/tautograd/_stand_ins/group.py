"""What one part of the kit has replaced and hooked, to be ended together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .everywhere import Functions
from .slots import Make, replace, wrapping


class StandIns:
    """Methods, functions and hooks; `end()` takes all of them away."""

    def __init__(self) -> None:
        self._ends: list[Callable[[], None]] = []
        self._functions = Functions()

    def method(self, owner: type, name: str, make: Make) -> None:
        """Replace a method of a class; `make` gets the original and gives the new one."""
        self._ends.append(replace(owner, name, wrapping(make)))

    def member(self, owner: type, name: str, make: Make) -> None:
        """The same for what is no plain method: `make` gets and gives what the class holds."""
        self._ends.append(replace(owner, name, make))

    def function(self, module: Any, name: str, make: Make) -> None:
        """Replace a function of a module, and wherever else it was imported to, by `everywhere()`."""
        self._functions.add(module, name, make)

    def everywhere(self) -> None:
        """Put the functions in their places, all in one search through the loaded modules."""
        self._functions.on()

    def handle(self, handle: Any) -> None:
        """A hook's handle, to be removed."""
        self._ends.append(handle.remove)

    def end(self) -> None:
        while self._ends:
            self._ends.pop()()
        self._functions.end()
