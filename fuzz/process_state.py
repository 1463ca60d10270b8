"""What must not change in the process, and must not happen, while a file is read."""

from __future__ import annotations

import builtins
import collections
import copyreg
import os
import sys
from typing import Any

ran: list[Any] = []
"""The canary's arguments, if it was called."""
_EXTENSIONS = (1, 300, 70_000)


def canary(*args: Any) -> None:
    """What a hostile file would like to call."""
    ran.append(args)


class _Watched(type):
    @property
    def trap(cls) -> None:
        """What would run if a reader looked up a name on this class."""
        ran.append(("trap",))

    def __getattr__(cls, name: str) -> None:
        if not name.startswith("_abc") and name not in ("__setstate__", "__isabstractmethod__"):
            ran.append((name,))
        raise AttributeError(name)


class Trap(metaclass=_Watched):
    """A class of the program's that no file may trigger."""


def register_extensions() -> None:
    """Make the extension registry lead to the canary, as it may lead to anything in a program."""
    for code in _EXTENSIONS:
        if code not in copyreg._inverted_registry:  # type: ignore[attr-defined]
            copyreg._extension_registry[f"m{code}", "canary"] = code  # type: ignore[attr-defined]
            copyreg._inverted_registry[code] = ("fuzz.process_state", "canary")  # type: ignore[attr-defined]
            copyreg._extension_cache[code] = canary  # type: ignore[attr-defined]


def unregister_extensions() -> None:
    """Undo that."""
    for code in _EXTENSIONS:
        copyreg._extension_registry.pop((f"m{code}", "canary"), None)  # type: ignore[attr-defined]
        copyreg._inverted_registry.pop(code, None)  # type: ignore[attr-defined]
        copyreg._extension_cache.pop(code, None)  # type: ignore[attr-defined]


class Watch:
    """The attributes of everything that a file can name, and the interpreter's tables."""

    def __init__(self) -> None:
        import tautograd
        from tautograd._files import (
            numpy_numbers,
            pickle_machine,
            plain_makers,
            storages,
            vocabulary,
        )

        names = vocabulary._NAMES
        classes = {value if isinstance(value, type) else type(value) for value in names.values()}
        classes |= {tautograd.Tensor, tautograd.nn.Parameter, tautograd.device, tautograd.dtype}
        classes |= {numpy_numbers.NumPyKind, storages.Storage, storages.Storages}
        classes |= {
            vocabulary.TorchVocabulary,
            pickle_machine.PickleMachine,
            type(tautograd.strided),
        }
        classes |= {cls for cls in collections.__dict__.values() if isinstance(cls, type)}
        self._tables = [vars(cls) for cls in classes]
        self._tables += [
            names, vocabulary._MAKERS, vocabulary._CLASS_OF, plain_makers.CLASSES, plain_makers.FUNCTIONS,
            pickle_machine._RARE, vars(builtins), sys.modules,
            copyreg.dispatch_table, copyreg._extension_registry,  # type: ignore[attr-defined]
            copyreg._inverted_registry, copyreg._extension_cache,  # type: ignore[attr-defined]
        ]  # fmt: skip
        self._slotted = [value for value in names.values() if hasattr(type(value), "__slots__")]
        self._slotted += [tautograd.device("cpu"), tautograd.strided, tautograd.channels_last]
        self._engine = tautograd

    def state(self) -> list[Any]:
        """What is compared: names, and the objects they refer to."""
        found: list[Any] = [(tuple(t), tuple(map(id, t.values()))) for t in self._tables]
        for value in self._slotted:
            slots = [name for cls in type(value).__mro__ for name in vars(cls).get("__slots__", ())]
            found.append([id(getattr(value, name, None)) for name in slots])
        found += [
            {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"},
            len(ran),
            sys.getrecursionlimit(),
            self._engine.get_default_dtype(),
        ]
        found.append(collections.Counter("aab") == {"a": 2, "b": 1})
        return found


def difference(before: list[Any], after: list[Any]) -> str:
    """What differs between two states, as far as names tell."""
    said = []
    for old, new in zip(before, after, strict=True):
        if old != new and isinstance(old, tuple):
            said.append(
                f"{sorted(map(str, {*old[0]} ^ {*new[0]}))[:8] or 'the same names, other objects'}"
            )
        elif old != new:
            said.append(f"{old!r:.100} became {new!r:.100}")
    return "; ".join(said)


class Audit:
    """The interpreter's audit events while a file is read: reading needs none of them."""

    _active: Audit | None = None
    _installed = False
    allowed = frozenset(("object.__getattr__", "gc.get_referrers", "builtins.id", "sys._getframe"))

    def __init__(self) -> None:
        self.events: list[str] = []
        if not Audit._installed:
            Audit._installed = True
            sys.addaudithook(Audit._hook)

    @staticmethod
    def _hook(event: str, args: Any) -> None:
        active = Audit._active
        if active is not None and event not in Audit.allowed:
            active.events.append(f"import {args[0]}" if event == "import" else event)

    def __enter__(self) -> Audit:
        self.events.clear()
        Audit._active = self
        return self

    def __exit__(self, *error: object) -> None:
        Audit._active = None
