"""Where things lie in CPython's and NumPy's objects, and whether that is so here.

Nothing is taken for granted: each figure is compared with what Python says of some objects, and where one does not
agree, nothing is translated.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from typing import Any

import numpy as np

from ...._arrays.once import once

REFERENCES = 0  # of an object: its count, then its type
TYPE = 8
ITEMS = 24  # of a tuple: its elements; of a list: where those are
SIZE = 16  # of a tuple, list or dictionary
LIST_ITEMS = 24
VERSION = 384  # of a type: the version of its attributes
TYPE_GETATTRO, TYPE_SETATTRO = 144, 152  # of a type: what looks up, and sets, an attribute
TYPE_INIT, TYPE_NEW = 296, 312  # of a type: what makes an object, and what fills it
TYPE_VECTORCALL_OFFSET = 56
DESCRIPTOR_OWNER, DESCRIPTOR_MEMBER = (
    16,
    40,
)  # of a slot's descriptor: whose it is, and its definition
MEMBER_KIND, MEMBER_OFFSET = 8, 16  # of that: the kind, and how far into the object the slot is
VECTORCALL_OFFSET = -(1 << 63)  # in a call: the place before the arguments may be written
CODE, DEFAULTS, CLOSURE = 48, 56, 72  # of a Python function
CELL_CONTENT = 16  # of a cell
NAMES_VERSION = 24  # of a dictionary: a number that is another one after each change of it
OBJECT_MEMBER = 16  # the kind of slots: an object, or nothing yet
ARRAY_DIMENSIONS, ARRAY_SHAPE, ARRAY_BASE, ARRAY_DTYPE, ARRAY_FLAGS = 24, 32, 48, 56, 64
C_CONTIGUOUS, C_ARRAY = 0x0001, 0x0501


def _word(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


def _half(address: int) -> int:
    return ctypes.c_uint32.from_address(address).value


@once
def agrees() -> bool:
    """Whether all of that is so in this process."""
    if sys.implementation.name != "cpython" or not (3, 11) <= sys.version_info[:2] <= (3, 13):
        return False
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED") or hasattr(sys, "gettotalrefcount"):
        return False
    try:
        return _objects() and _types() and _slots() and _arrays() and _functions()
    except (OSError, AttributeError, ValueError):
        return False


def _objects() -> bool:
    one, two = object(), object()
    pair: Any = (one, two)
    items: Any = [two, one, two]
    half = (1 << 32) - 1
    count = _word(id(one) + REFERENCES) & half
    if count != sys.getrefcount(one) - 1 or _word(id(one) + TYPE) != id(object):
        return False
    names: Any = dict.fromkeys("abcde")
    del names["b"]
    if _word(id(names) + SIZE) != 4:
        return False
    if _word(id(pair) + SIZE) != 2 or _word(id(pair) + ITEMS + 8) != id(two):
        return False
    return _word(id(items) + SIZE) == 3 and _word(_word(id(items) + LIST_ITEMS)) == id(two)


def _types() -> bool:
    class Changed:
        here = 1

    def ask() -> int:
        return Changed.here + len([Changed().here for _ in range(2)])

    ask()
    first = _half(id(Changed) + VERSION)
    Changed.here = 2
    changed = _half(id(Changed) + VERSION)
    ask()
    second = _half(id(Changed) + VERSION)
    new = _word(id(object) + TYPE_NEW)
    init = _word(id(object) + TYPE_INIT)
    alike = all(_word(id(kind) + TYPE_NEW) == new for kind in (Changed, type("Other", (), {})))
    alike = alike and _word(id(Changed) + TYPE_INIT) == init
    Changed.__init__ = Changed.__new__ = ask  # type: ignore[method-assign,assignment]
    alike = alike and _word(id(Changed) + TYPE_INIT) != init
    alike = alike and _word(id(Changed) + TYPE_NEW) != new
    for kind in (object, Changed):
        for at, name in ((TYPE_GETATTRO, "GetAttr"), (TYPE_SETATTRO, "SetAttr")):
            function = getattr(ctypes.pythonapi, f"PyObject_Generic{name}")
            if _word(id(kind) + at) != ctypes.cast(function, ctypes.c_void_p).value:
                return False
    other = _word(id(tuple) + TYPE_NEW) != new != _word(id(list) + TYPE_NEW)
    return bool(first) and changed == 0 and second not in (0, first) and alike and other


def _slots() -> bool:
    class Slotted:
        __slots__ = ("first", "second")

    held: Any = Slotted()
    held.first, held.second = object(), object()
    for name in Slotted.__slots__:
        descriptor = vars(Slotted)[name]
        if _word(id(descriptor) + DESCRIPTOR_OWNER) != id(Slotted):
            return False
        definition = _word(id(descriptor) + DESCRIPTOR_MEMBER)
        if ctypes.c_int.from_address(definition + MEMBER_KIND).value != OBJECT_MEMBER:
            return False
        offset = _word(definition + MEMBER_OFFSET)
        if _word(id(held) + offset) != id(getattr(held, name)):
            return False
    return True


def _arrays() -> bool:
    whole = np.arange(24.0).reshape(2, 3, 4)
    part = whole[:, 1:, ::2]
    for array in (whole, part, np.ones(()), np.ones((3, 2), np.int32, order="F")):
        at = id(array)
        shape = _word(at + ARRAY_SHAPE)
        if ctypes.c_int.from_address(at + ARRAY_DIMENSIONS).value != array.ndim:
            return False
        if tuple(_word(shape + 8 * i) for i in range(array.ndim)) != array.shape:
            return False
        if _word(at + ARRAY_DTYPE) != id(array.dtype):
            return False
        flags = ctypes.c_int.from_address(at + ARRAY_FLAGS).value
        if bool(flags & C_CONTIGUOUS) != array.flags.c_contiguous:
            return False
        if (flags & C_ARRAY == C_ARRAY) != array.flags.carray:
            return False
    return _word(id(part) + ARRAY_BASE) == id(part.base)


@once
def vectorcall_offset() -> int:
    """Of a Python function: where the address is that a call of it goes to."""
    return _word(id(type(agrees)) + TYPE_VECTORCALL_OFFSET)


@once
def pythons_own() -> int:
    """The address that calls of Python functions go to, unless something else was put there."""
    return _word(id(_functions) + vectorcall_offset())


def _functions() -> bool:
    if not 16 < vectorcall_offset() < type(agrees).__basicsize__ or not pythons_own():
        return False
    code = ctypes.cast(ctypes.pythonapi.PyObject_GetAttr, ctypes.c_void_p).value or 0
    near = abs(pythons_own() - code) < 1 << 28  # in the same library

    def some(a: int = 3, b: int = 4) -> int:
        return a + b

    def inner() -> Any:
        return near

    for function in (some, _types):
        if _word(id(function) + CODE) != id(function.__code__):
            return False
    if _word(id(some) + DEFAULTS) != id(some.__defaults__) or _word(id(_types) + DEFAULTS):
        return False
    if _word(id(inner) + CLOSURE) != id(inner.__closure__) or _word(id(some) + CLOSURE):
        return False
    if _word(id(inner.__closure__[0]) + CELL_CONTENT) != id(near):  # type: ignore[index]
        return False
    return near and all(
        _word(id(f) + vectorcall_offset()) == pythons_own() for f in (_types, _slots, lambda: 0)
    )


@once
def dictionaries_have_versions() -> bool:
    """Whether a change of a dictionary shows in a number that it has (`NAMES_VERSION`)."""
    names: dict[str, Any] = {"one": 1, "two": 2}
    seen = [_word(id(names) + NAMES_VERSION)]
    names["one"] = 3
    seen.append(_word(id(names) + NAMES_VERSION))
    names["three"] = names.get("one")
    seen.append(_word(id(names) + NAMES_VERSION))
    del names["two"]
    seen.append(_word(id(names) + NAMES_VERSION))
    names.update(one=4)
    seen.append(_word(id(names) + NAMES_VERSION))
    same = _word(id(names) + NAMES_VERSION)
    names.get("one")
    other = {"one": 1}
    different = _word(id(other) + NAMES_VERSION) not in seen
    kept = seen[-1] == same == _word(id(names) + NAMES_VERSION)
    return len(set(seen)) == len(seen) and kept and different
