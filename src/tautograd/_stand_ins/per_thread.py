"""Patches members of a module or class for some threads only: all others see the originals.

A module's own dictionary is not modified. Its class is swapped instead, for one that resolves these names
in the threads that asked for it; so `math.exp` in any other thread is `math.exp`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from .everywhere import holders
from .slots import Make, WhileAnybody


class _Depth(threading.local):
    inside = 0
    loaded: frozenset[str] = frozenset()  # modules loaded when this thread entered


class InThisThread:
    """A context in which this thread sees other members of a module and of classes."""

    def __init__(
        self, module: ModuleType, members: Mapping[str, Any], *others: tuple[type, str, Any]
    ) -> None:
        self._depth = depth = _Depth()
        self._originals = {id(new): getattr(module, name) for name, new in members.items()}
        names: list[tuple[Any, str, Make]] = [(module, "__class__", _class_with(members, depth))]
        names += [(owner, name, _member(new, depth)) for owner, name, new in others]
        self._shared = WhileAnybody(lambda: names)

    def __enter__(self) -> None:
        self._shared.__enter__()
        if not self._depth.inside:
            self._depth.loaded = frozenset(sys.modules)
        self._depth.inside += 1

    def __exit__(self, *error: object) -> None:
        self._depth.inside = max(self._depth.inside - 1, 0)
        self._shared.__exit__(*error)
        if new := sys.modules.keys() - self._depth.loaded:
            self._give_back(new)

    def _give_back(self, names: set[str]) -> None:
        """Restore the originals in modules that were loaded inside and may have imported a replacement."""
        modules = {name: sys.modules[name] for name in names}
        for module, key, value in list(holders(modules, self._originals)):
            setattr(module, key, self._originals[id(value)])

    def stop_in_child(self) -> None:
        """After a fork: restore everything, whatever the parent was doing."""
        self._depth.inside = 0
        self._shared.stop_in_child()


def _class_with(members: Mapping[str, Any], depth: _Depth) -> Callable[[Any], Any]:
    def make(kind: Any) -> Any:
        def __getattribute__(self: Any, name: str) -> Any:
            if name in members and depth.inside:
                return members[name]
            return kind.__getattribute__(self, name)

        return type(kind.__name__, (kind,), {"__getattribute__": __getattribute__})

    return make


class _Member:
    """A class member: a replacement in the threads that asked for it, the original in all others."""

    def __init__(self, original: Any, new: Any, depth: _Depth) -> None:
        self._original, self._new, self._depth = original, new, depth

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        found = self._new if self._depth.inside else self._original
        return found.__get__(instance, owner)


def _member(new: Any, depth: _Depth) -> Callable[[Any], Any]:
    return lambda original: _Member(original, new, depth)
