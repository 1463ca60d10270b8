"""Python values as they are now, in a form that compares equal as long as nothing in them has changed.

Another thread may change a container while it is looked at: what is in it is taken out at once, as a tuple.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._trees.nests import fields_of_dataclass

SIMPLE = (bool, int, float, complex, str, bytes, type(None))
SMALL = 4096  # bytes of a NumPy array that is compared at each call
DEPTH = 4
MISSING = object()


class Asked(set[Any]):
    """A place that only a function can look at. It counts as a container: what is in it is compared."""

    def __init__(self, look: Callable[[], Any]) -> None:
        super().__init__()
        self.look = look
        self.was = look()  # which stays alive, so that no other object has its address


class Same:
    """An object that is compared by which it is, and kept."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def frozen(value: Any, depth: int = DEPTH) -> Any:
    """A value that compares equal as long as nothing in it has changed; other objects count as themselves."""
    kind = type(value)
    if kind is float:
        return kind, value.hex()  # which tells 0.0 from -0.0
    if kind is complex:
        return kind, value.real.hex(), value.imag.hex()
    if kind in SIMPLE:
        return kind, value
    if kind is Asked:
        return kind, frozen(value.look(), depth)
    if kind is Same:
        return kind, id(value.value)
    if isinstance(value, np.ndarray):
        return (
            kind,
            value.dtype,
            value.shape,
            value.tobytes() if value.nbytes <= SMALL else id(value),
        )
    if depth and isinstance(value, (tuple, list, deque)):
        return kind, tuple([frozen(part, depth - 1) for part in tuple(value)])
    if depth and isinstance(value, dict):
        items = tuple(value.items())
        return kind, tuple([(type(k), k, frozen(part, depth - 1)) for k, part in items])
    if depth and isinstance(value, (set, frozenset)):
        return kind, frozenset([frozen(part, depth - 1) for part in tuple(value)])
    if depth and (names := fields_of_dataclass(value)):
        held = tuple(frozen(getattr(value, name), depth - 1) for name in names)
        return kind, id(value), held
    return kind, bytes(value) if kind is bytearray else id(value)


def is_frozen_whole(value: Any, depth: int = DEPTH) -> bool:
    """Whether `frozen` looks at all that is in a value."""
    if isinstance(value, (tuple, list, deque, set, frozenset)):
        return depth > 0 and all(is_frozen_whole(part, depth - 1) for part in tuple(value))
    if isinstance(value, dict):
        return depth > 0 and all(is_frozen_whole(part, depth - 1) for part in tuple(value.values()))
    return True


def places(value: Any, most: int, depth: int = DEPTH) -> int:
    """How many values `frozen` looks at; where they are more than `most`, some number above it."""
    parts: Any = ()
    if depth and isinstance(value, (tuple, list, deque, set, frozenset)):
        parts = tuple(value)
    elif depth and isinstance(value, dict):
        parts = tuple(value.values())
    elif depth and type(value) not in SIMPLE and (names := fields_of_dataclass(value)):
        parts = [getattr(value, name) for name in names]
    count = 1 + len(parts)
    for part in parts:
        if count > most:
            break
        if type(part) not in SIMPLE:
            count += places(part, most - count, depth - 1) - 1
    return count
