"""A NumPy number in a file: a type code, a byte order, and its bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .refusals import DamagedFile

_CODES = frozenset(
    ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
    + [np.dtype(kind).str[1:] for kind in (np.longdouble, np.clongdouble)]
)


def is_number_code(code: str) -> bool:
    """Whether a dtype code is a number's."""
    return code in _CODES


class NumPyKind:
    """A number's dtype, which determines how its bytes are read, and nothing else."""

    __slots__ = ("_code", "_order")

    def __init__(self, code: str) -> None:
        self._code = code
        self._order: Any = "="

    def set_order(self, state: Any) -> None:
        """Restore the state NumPy writes: (version, byte order, and fields that only structured dtypes use)."""
        if type(state) is not tuple or not 2 <= len(state) <= 9 or type(state[1]) is not str:
            raise DamagedFile("a dtype of NumPy in the file has no byte order")
        if state[1] in ("<", ">", "|"):
            self._order = state[1]

    def number(self, data: bytes) -> Any:
        """The number with these bytes."""
        kind = np.dtype(self._code).newbyteorder(self._order)
        if len(data) != kind.itemsize:
            raise DamagedFile(f"a number of NumPy in the file has {len(data)} bytes")
        return np.frombuffer(data, kind)[0].item()
