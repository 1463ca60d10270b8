"""Numbered calls of modules: a module that is called twice makes two groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..._verify.subject.module_paths import ModulePaths


@dataclass
class Entered:
    """A module while it runs."""

    number: int
    parent: int
    path: str
    kind: str
    module: Any


class ModuleCalls(ModulePaths):
    """Module paths, with a number for each call."""

    def __init__(self, engine: Any) -> None:
        super().__init__(engine)
        self.calls: dict[int, Entered] = {}
        self._stack: list[int] = []

    @property
    def inside(self) -> int:
        """The call that is currently running; 0 for none."""
        return self._stack[-1] if self._stack else 0

    def running(self, module: Any) -> int:
        """The innermost call of this module; 0 if it is not running."""
        for number in reversed(self._stack):
            if self.calls[number].module is module:
                return number
        return 0

    @property
    def roots(self) -> list[Any]:
        return self._roots

    def _begin(self, module: Any, inputs: Any) -> None:
        super()._begin(module, inputs)
        number = len(self.calls) + 1
        name = type(module).__name__
        self.calls[number] = Entered(number, self.inside, self.current, name, module)
        self._stack.append(number)

    def _end(self, *given: Any) -> None:
        super()._end(*given)
        if self._stack:
            self._stack.pop()
