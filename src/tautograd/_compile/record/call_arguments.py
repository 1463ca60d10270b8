"""The arguments as a recorded function gets them: with other tensors in place of those that have a history.

Lists, dictionaries and dataclasses are copied then. What the function does to the copies is seen, and done to those
of the caller as well.
"""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from ..._trees.nests import fields_of_dataclass
from ..guards.frozen import frozen
from .symbols import Symbol, has_symbols
from .trees import NESTS
from .varying_numbers import plain_again

CHANGED = "a change of a list, a dictionary or a dataclass among the arguments"
DEEP = 64


class CallArguments:
    """The arguments of a call, and what the function was given in their places."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self._copies: list[tuple[Any, Any]] = []
        self._before: Any = None
        self._changed = False
        self._back: dict[int, Any] = {}

    def replace(self, by: dict[int, Any]) -> None:
        """Put other tensors in place of some."""
        original = self.call
        self.call = NESTS.alike(original, lambda leaf: by.get(id(leaf), leaf), {})
        pairs = zip(NESTS.containers(original), NESTS.containers(self.call), strict=True)
        self._copies = [(ours, theirs) for (path, ours), (_, theirs) in pairs if len(path) > 1]
        self._before = frozen(self.call, DEEP)

    def settle(self) -> bool:
        """When the function has run: whether it has changed one of the copies. Symbols in them are let go."""
        if self._before is not None:
            self._changed = frozen(self.call, DEEP) != self._before
        self.call = self._before = None
        for _, copy in self._copies:
            if isinstance(copy, (list, dict)):
                plain_again(copy)
        self._copies = [pair for pair in self._copies if not has_symbols(pair[1])]
        return self._changed

    def give_over(self, back: dict[int, Any]) -> None:
        """Let the caller's containers be as the copies are; `back` are the tensors that were replaced."""
        self._back = back
        if self.call is not None:  # an error in the function
            self.settle()
        if not self._changed:
            return
        for original, copy in self._copies:
            if isinstance(copy, list):
                original[:] = [self.given_back(part) for part in copy]
            elif isinstance(copy, dict):
                parts = {key: self.given_back(part) for key, part in copy.items()}
                original.clear()
                original.update(parts)
            elif not isinstance(copy, tuple):
                for name in fields_of_dataclass(copy):
                    object.__setattr__(original, name, self.given_back(getattr(copy, name)))

    def given_back(self, value: Any) -> Any:
        """A value that the function has left, with the caller's own tensors, containers and numbers in it."""
        known = {id(copy): original for original, copy in self._copies}
        return NESTS.changed_within(value, self._given_back, known)

    def _given_back(self, leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            return self._back.get(id(leaf), leaf)
        return leaf.value if type(leaf) is Symbol else leaf
