"""Comparing many places with what was in them, by one call of machine code.

A place is an attribute, the content of a cell, an item of a dictionary, an entry of a list or its length,
asked for by CPython's public functions. A slot of a tensor is read where it lies, if that can be found out.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable, Sequence
from typing import Any

from ..._arrays.once import once
from ..._tensor.tensor import Tensor
from .llvm import table_walk
from .llvm.c_functions import NO_ARGUMENTS, Method, function_of, method_from

ATTRIBUTE, CELL, ITEM, ENTRY, LENGTH, WORD = range(6)
# Its kind, whose, its name, key or number, and what has to be there.
Place = tuple[int, Any, Any, Any]

_NAME = "taut_same"
_USED = table_walk.USED | {
    "PyObject_GetAttr": "ptr (ptr, ptr)",
    "PyCell_Get": "ptr (ptr)",
    "PyDict_GetItemWithError": "ptr (ptr, ptr)",
    "PyList_GetItem": "ptr (ptr, i64)",
    "PyObject_Size": "i64 (ptr)",
    "PyErr_Clear": "void ()",
    "Py_DecRef": "void (ptr)",
}
# `self` is a tuple: the table of places as bytes, and all the objects in it, which it keeps alive.
_BODY = table_walk.walk(
    _NAME,
    "nothing",
    32,
    f"""
record:
  %holder.at = getelementptr i8, ptr %at, i64 8
  %name.at = getelementptr i8, ptr %at, i64 16
  %content.at = getelementptr i8, ptr %at, i64 24
  %kind = load i64, ptr %at, align 1
  %holder = load ptr, ptr %holder.at, align 1
  %name = load ptr, ptr %name.at, align 1
  %content = load ptr, ptr %content.at, align 1
  switch i64 %kind, label %item [
    i64 {ATTRIBUTE}, label %attribute
    i64 {CELL}, label %cell
    i64 {ENTRY}, label %entry.of
    i64 {LENGTH}, label %length
    i64 {WORD}, label %word
  ]
attribute:
  %of.object = call ptr @PyObject_GetAttr(ptr %holder, ptr %name)
  br label %owned
cell:
  %of.cell = call ptr @PyCell_Get(ptr %holder)
  br label %owned
owned:
  %got = phi ptr [ %of.object, %attribute ], [ %of.cell, %cell ]
  call void @Py_DecRef(ptr %got)
  br label %found
item:
  %of.dictionary = call ptr @PyDict_GetItemWithError(ptr %holder, ptr %name)
  br label %found
entry.of:
  %number = ptrtoint ptr %name to i64
  %of.list = call ptr @PyList_GetItem(ptr %holder, i64 %number)
  br label %found
length:
  %count = call i64 @PyObject_Size(ptr %holder)
  %counted = inttoptr i64 %count to ptr
  br label %found
word:
  %there = load ptr, ptr %holder, align 8
  br label %found
found:
  %now = phi ptr [ %got, %owned ], [ %of.dictionary, %item ], [ %of.list, %entry.of ],
    [ %counted, %length ], [ %there, %word ]
  %is = icmp eq ptr %now, %content
  br i1 %is, label %same, label %no
same:
""",
    "same",
    """
no:
  call void @PyErr_Clear()
  %false = call ptr @PyBool_FromLong(i64 0)
  ret ptr %false
""",
)


@once
def _method() -> Method:
    return method_from(_BODY, _NAME, _USED, NO_ARGUMENTS)


@functools.cache
def offset_of(kind: type, name: str) -> int | None:
    """How far from its beginning an object has a slot, or None where that cannot be seen."""
    content = object()
    probe: Any = object.__new__(kind)
    setattr(probe, name, content)
    steps = range(0, kind.__basicsize__, ctypes.sizeof(ctypes.c_void_p))
    found = [step for step in steps if word_at(id(probe) + step) == id(content)]
    return found[0] if len(found) == 1 else None


def word_at(address: int) -> int | None:
    return ctypes.c_void_p.from_address(address).value


def _words(kind: int, holder: Any, name: Any, content: Any) -> tuple[int, ...]:
    """A place in the table; a slot becomes a word in memory if that holds what it should."""
    if kind == ATTRIBUTE and isinstance(holder, Tensor) and name in Tensor.__slots__:
        offset = offset_of(Tensor, name)
        if offset is not None and word_at(id(holder) + offset) == id(content):
            return WORD, id(holder) + offset, 0, id(content)
    number = name if kind == ENTRY else id(name)
    return kind, id(holder), number, content if kind == LENGTH else id(content)


def watching(places: Sequence[Place]) -> Callable[[], bool]:
    """A function that says whether each place holds the very object that it should."""
    kept = list(places)
    table = b"".join(struct.pack("=4q", *_words(*place)) for place in kept)
    return function_of(_method(), (table, kept))
