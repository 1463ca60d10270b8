"""What every array type of the engine's says of itself, by what it has."""

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
    """`bool(x)`, `float(x)` and so on, of a value that has to be fetched or computed first."""

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
    """A property that is an attribute of something held: `dtype = attribute_of("value.dtype")`."""
    return property(attrgetter(path))
