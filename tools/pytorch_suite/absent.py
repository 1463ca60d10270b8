"""Stands in for PyTorch names that tautograd lacks, while a test file is being loaded.

A test file imports private names and computes lists of devices at top level. One missing name must not
prevent the whole file from loading, so it is replaced by an `Absent`: false, empty, and a no-op when
called. Once tests run, an `Absent` that a test uses raises; one that PyTorch's test harness uses (to
reset a compiler that does not exist) stays a no-op.
"""

from __future__ import annotations

import types
from typing import Any

loading = 0
"""The nesting depth of files being loaded."""


def getattr_(owner: Any, name: str, *default: Any) -> Any:
    """`getattr` for the loaded files: a call with a default tests whether the name exists."""
    if not default:
        return getattr(owner, name)
    found = default[0] if isinstance(owner, Absent) else getattr(owner, name, default[0])
    return default[0] if isinstance(found, Absent) else found


def hasattr_(owner: Any, name: str) -> bool:
    missing = object()
    return getattr_(owner, name, missing) is not missing


class Absent:
    def __init__(self, name: str, *, harness: bool) -> None:
        self.__dict__["absent_name"] = name
        self.__dict__["absent_harness"] = harness

    def _used(self) -> None:
        if not (loading or self.absent_harness):
            raise AttributeError(f"there is no {self.absent_name}", name=self.absent_name)

    def _part(self, name: str) -> Absent:
        self._used()
        return Absent(name, harness=self.absent_harness)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._part(f"{self.absent_name}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        self._used()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._used()
        if len(args) == 1 and not kwargs and isinstance(args[0], types.FunctionType | type):
            return args[0]  # it was a decorator
        return self._part(f"{self.absent_name}()")

    def __getitem__(self, key: Any) -> Any:
        return self._part(f"{self.absent_name}[]")

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return ()

    def __iter__(self) -> Any:
        self._used()
        return iter(())

    def __enter__(self) -> Any:
        self._used()
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def __bool__(self) -> bool:
        self._used()
        return False

    def _nothing(self, other: Any) -> Any:
        return self._part(self.absent_name)

    __or__ = __ror__ = __and__ = __rand__ = __add__ = __radd__ = __sub__ = __mul__ = _nothing

    def _no(self, other: Any) -> bool:
        self._used()
        return False

    __lt__ = __le__ = __gt__ = __ge__ = __instancecheck__ = __subclasscheck__ = _no

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Absent) and self.absent_name == other.absent_name

    def __hash__(self) -> int:
        return hash(self.absent_name)

    def __index__(self) -> int:
        self._used()
        return 0

    def __repr__(self) -> str:
        return f"<absent {self.absent_name}>"
