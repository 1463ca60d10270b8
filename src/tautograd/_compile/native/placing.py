"""Where arguments lie in memory, written by machine code where a program reads it.

An array's address is the first field of NumPy's array object, which its binary interface has always had
there. That it is so is tried before it is relied on.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.once import once
from .llvm import table_walk
from .llvm.c_functions import ONE_ARGUMENT, Method, function_of, method_from
from .watching import word_at

_NAME = "taut_place"
_ADDRESS = object.__basicsize__  # where an array object has the address of its elements
_USED = table_walk.USED | {"PyList_GetItem": "ptr (ptr, i64)"}
# A record says which argument, where to write, and what to take off.
_BODY = table_walk.walk(
    _NAME,
    "arrays",
    24,
    f"""
record:
  %where.at = getelementptr i8, ptr %at, i64 8
  %less.at = getelementptr i8, ptr %at, i64 16
  %number = load i64, ptr %at, align 1
  %where = load ptr, ptr %where.at, align 1
  %less = load i64, ptr %less.at, align 1
  %array = call ptr @PyList_GetItem(ptr %arrays, i64 %number)
  %missing = icmp eq ptr %array, null
  br i1 %missing, label %error, label %write
write:
  %address.at = getelementptr i8, ptr %array, i64 {_ADDRESS}
  %address = load i64, ptr %address.at
  %start = sub i64 %address, %less
  store i64 %start, ptr %where
""",
    "write",
    """
error:
  ret ptr null
""",
)


@once
def _method() -> Method | None:
    return method_from(_BODY, _NAME, _USED, ONE_ARGUMENT) if _is_so() else None


def _is_so() -> bool:
    """Whether arrays have their address where it is looked for."""
    whole = np.zeros((4, 6))
    arrays: list[Any] = [whole, whole[1:, ::2], whole.T[3:], np.zeros(3, np.int8)]
    return all(
        word_at(id(array) + _ADDRESS) == array.__array_interface__["data"][0] for array in arrays
    )


def placing(
    table: Any, slots: list[tuple[int, int]], offsets: list[int]
) -> Callable[[list[Any]], bool] | None:
    """A function of a list of arrays of NumPy's, one for each argument, that writes their addresses into a table.

    `slots` are an argument's number and its place in the table, `offsets` what is taken off.
    """
    method = _method()
    if method is None:
        return None
    start, step = table.__array_interface__["data"][0], table.itemsize
    words = b"".join(struct.pack("=3q", i, start + slot * step, offsets[i]) for i, slot in slots)
    return function_of(method, (words, table))
