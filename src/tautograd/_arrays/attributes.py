"""Attributes shared by all of the engine's array types, derived from what each has."""

from __future__ import annotations

from math import prod
from operator import attrgetter
from typing import Any


class ArrayAttributes:
    """What follows from a `shape` and a `dtype`."""

    __slots__ = ()

    shape: tuple[int, ...]
    dtype: Any

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        return int(self.dtype.itemsize)


class ReadAsNumber:
    """`bool(x)`, `float(x)` and so on, for a value that must first be fetched or computed."""

    __slots__ = ()

    def _read(self) -> Any:
        """The value itself."""
        raise NotImplementedError

    def __bool__(self) -> bool:
        return bool(self._read())

    def __float__(self) -> float:
        return float(self._read())

    def __int__(self) -> int:
        return int(self._read())

    def __complex__(self) -> complex:
        return complex(self._read())


def attribute_of(path: str) -> Any:
    """A property that forwards to an attribute of a held object: `dtype = attribute_of("value.dtype")`."""
    return property(attrgetter(path))
