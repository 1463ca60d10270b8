"""Comparing many places with what was in them, by one call of machine code.

A place is an attribute, the content of a cell, an item of a dictionary, an entry of a list or its length,
asked for by CPython's public functions. A slot of a tensor is read where it lies, if that can be found out, and so
is what a function, a cell or a list has in a place that `python_code/layout` has tried.

A dictionary that has not changed at all is known by the number that every change gives it (its version), and a class
by that of its attributes: then none of its places is looked at. If it has, they are, and the new number is kept once
they were found as they should be.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from ..._arrays.once import once
from ..._tensor.tensor import Tensor
from .llvm import table_walk
from .llvm.c_functions import NO_ARGUMENTS, Method, function_of, method_from
from .python_code.layout import (
    CELL_CONTENT,
    CODE,
    DEFAULTS,
    NAMES_VERSION,
    SIZE,
    VERSION,
    agrees,
    dictionaries_have_versions,
)

ATTRIBUTE, CELL, ITEM, ENTRY, LENGTH, WORD, CHANGES, CLASS_CHANGES, SEEN, CLASS_SEEN = range(10)
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
    i64 {CHANGES}, label %changes
    i64 {CLASS_CHANGES}, label %class.changes
    i64 {SEEN}, label %seen
    i64 {CLASS_SEEN}, label %class.seen
  ]
changes:
  %version = load i64, ptr %holder, align 8
  br label %changed
class.changes:
  %half = load i32, ptr %holder, align 4
  %wide = zext i32 %half to i64
  br label %changed
changed:
  ; `name` is how many bytes of the table are about this holder, `content` its version when they were looked at
  %latest = phi i64 [ %version, %changes ], [ %wide, %class.changes ]
  %known = ptrtoint ptr %content to i64
  %unchanged = icmp eq i64 %latest, %known
  br i1 %unchanged, label %skip, label %look
skip:
  %about = ptrtoint ptr %name to i64
  %over = getelementptr i8, ptr %at, i64 %about
  br label %same
look:
  store i64 -1, ptr %content.at, align 1
  br label %same
seen:
  %new.version = load i64, ptr %holder, align 8
  br label %note
class.seen:
  %new.half = load i32, ptr %holder, align 4
  %new.wide = zext i32 %new.half to i64
  br label %note
note:
  ; `name` is how far back the record is that this one ends
  %to.note = phi i64 [ %new.version, %seen ], [ %new.wide, %class.seen ]
  %back = ptrtoint ptr %name to i64
  %noted.at = getelementptr i8, ptr %content.at, i64 %back
  ; (a class that changed has none until somebody asks for an attribute)
  %has.none = icmp eq i64 %to.note, 0
  %noted = select i1 %has.none, i64 -1, i64 %to.note
  store i64 %noted, ptr %noted.at, align 1
  br label %same
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
  %here = phi ptr [ %at, %found ], [ %over, %skip ], [ %at, %look ], [ %at, %note ]
""",
    "same",
    """
no:
  call void @PyErr_Clear()
  %false = call ptr @PyBool_FromLong(i64 0)
  ret ptr %false
""",
    "here",
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
    """A place in the table; it becomes a word in memory where that is known and holds what it should."""
    if kind == ATTRIBUTE and isinstance(holder, Tensor) and name in Tensor.__slots__:
        offset = offset_of(Tensor, name)
        if offset is not None and word_at(id(holder) + offset) == id(content):
            return WORD, id(holder) + offset, 0, id(content)
    place = _place_of(kind, holder, name) if agrees() else None
    if place is not None:
        wanted = content if kind == LENGTH else id(content)
        word = word_at(place) or 0
        if word == wanted or (not word and content is None):
            return WORD, place, 0, word
    number = name if kind == ENTRY else id(name)
    return kind, id(holder), number, content if kind == LENGTH else id(content)


def _place_of(kind: int, holder: Any, name: Any) -> int | None:
    """Where an object has what is asked for, if it is known how it lies in memory."""
    if kind == CELL:
        return id(holder) + CELL_CONTENT
    if kind == LENGTH and type(holder) in (list, dict):
        return id(holder) + SIZE
    if kind == ATTRIBUTE and type(holder) is FunctionType:
        offset = _OF_FUNCTIONS.get(name)
        return None if offset is None else id(holder) + offset
    return None


_OF_FUNCTIONS = {"__code__": CODE, "__defaults__": DEFAULTS}
_RECORD = struct.Struct("=4q")


def watching(places: Sequence[Place]) -> Callable[[], bool]:
    """A function that says whether each place holds the very object that it should."""
    kept = list(places)
    # What is in one dictionary, or one class, is asked for together.
    groups: dict[Any, list[tuple[int, ...]]] = {}
    for i, place in enumerate(kept):
        words = _words(*place)
        about = words[0], words[1]
        groups.setdefault(about if _has_versions(*place[:2], words[0]) else i, []).append(words)
    records: list[tuple[int, ...]] = []
    for about, group in groups.items():
        if not isinstance(about, tuple):
            records += group
            continue
        kind, holder = about
        at = holder + (NAMES_VERSION if kind == ITEM else VERSION)
        begins, ends = (CHANGES, SEEN) if kind == ITEM else (CLASS_CHANGES, CLASS_SEEN)
        far = (len(group) + 1) * _RECORD.size
        records += [(begins, at, far, -1), *group, (ends, at, -far, 0)]
    table = b"".join(_RECORD.pack(*record) for record in records)
    return function_of(_method(), (table, kept))


def _has_versions(kind: int, holder: Any, asked: int) -> bool:
    """Whether all changes of what holds something show in a number."""
    if asked != kind or not agrees():
        return False
    if kind == ITEM:
        return type(holder) is dict and dictionaries_have_versions()
    return kind == ATTRIBUTE and isinstance(holder, type) and type(holder) is type
