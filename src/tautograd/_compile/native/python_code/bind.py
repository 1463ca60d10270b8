"""Translated functions in memory: what their code names, and functions of CPython's kind that run it."""

from __future__ import annotations
import __future__

import ast
import ctypes
import functools
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from ..disk_cache import store
from ..llvm import jit
from ..llvm.c_functions import Method, function_of, symbols_of
from . import prelude
from .helpers import HELPERS
from .layout import agrees, pythons_own
from .lines import Refused
from .translate import ENTRY, Definition, Translation

_FUTURE = __future__.annotations.compiler_flag
_WITH_NAMES = 0x0080 | 0x0002  # METH_FASTCALL | METH_KEYWORDS


class Translated:
    """The machine code of one function, with the objects it names; it stays until the process ends."""

    def __init__(
        self, definition: Definition, function: FunctionType, restarts: bool, above: int = 0
    ) -> None:
        translation = Translation(function, definition, restarts, above)
        body = translation.text()  # (defaults put objects into the table)
        self.module = f"{prelude.text()}\n{HELPERS}\n{body}"
        self.held = translation.table
        self.code = self.held[0]
        self.calls = translation.calls  # names of what it calls
        self._table = (ctypes.c_void_p * max(1, len(self.held)))(*map(id, self.held))
        for place in translation.cells.values():  # of these it lets go itself
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.held[place]))
        self._caches = np.full(
            max(1, translation.caches) * prelude.CACHE // 4, prelude.UNKNOWN, np.uint32
        )
        code, self.cached = store.compiled(self.module, thorough=True)
        symbols = symbols_of(prelude.USED) | {
            "table": ctypes.addressof(self._table),
            "caches": self._caches.ctypes.data,
            "as_python": pythons_own(),
        }
        for name in prelude.OBJECTS:
            symbols[name] = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, name))
        loaded = jit.Loaded(code, symbols)
        self.address = loaded.address(ENTRY)
        loaded.keep()

    def builtin(self, function: FunctionType) -> Any:
        """A function of CPython's own that runs it."""
        method = Method(function.__name__.encode(), self.address, _WITH_NAMES, None)
        return function_of(method, function, self)

    def named(self, function: FunctionType, name: str) -> Any:
        """What a name stands for in a function that has this code."""
        free = function.__code__.co_freevars
        if name not in free:
            return function.__globals__.get(name)
        try:
            return (function.__closure__ or ())[free.index(name)].cell_contents
        except ValueError:  # not yet given
            return None


def definition_in(text: str, function: FunctionType, kind: str = "exec") -> Definition | None:
    """Where a text defines a function that runs what this one runs; None where none does, or several may."""
    code = function.__code__
    if not any(
        part.replace(co_name=code.co_name) == code
        for part in _codes_in(text, kind, code.co_flags & _FUTURE)
    ):
        return None
    found = [node for node in _definitions_in(text, kind) if _is_of(node, code)]
    if code.co_name == "<lambda>":  # several may begin in one line, one inside of another
        found = sorted(found, key=lambda node: _span(node.body))[-1:]
    return found[0] if len(found) == 1 else None


def _is_of(node: Definition, code: CodeType) -> bool:
    """Whether a definition may be that of some code: by the places of its instructions."""
    if isinstance(node, ast.FunctionDef):
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        return node.name == code.co_name and first == code.co_firstlineno
    if code.co_name != "<lambda>" or node.lineno != code.co_firstlineno:
        return False
    first, last = _span(node.body)
    places = [p for p in code.co_positions() if None not in p and p[2:] != (0, 0)]
    return all(first <= (p[0], p[2]) and (p[1], p[3]) <= last for p in places)  # type: ignore[operator]


def _span(node: Any) -> Any:
    """Where an expression begins and ends, in lines and columns."""
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


@functools.lru_cache(maxsize=4)
def _codes_in(text: str, kind: str, flags: int) -> list[CodeType]:
    found = [compile(text, "", kind, flags=flags, dont_inherit=True)]
    for code in found:  # (which grows)
        found += [part for part in code.co_consts if isinstance(part, CodeType)]
    return found


@functools.lru_cache(maxsize=4)
def _definitions_in(text: str, kind: str) -> list[Definition]:
    whole = ast.parse(text, mode=kind)
    return [n for n in ast.walk(whole) if isinstance(n, (ast.FunctionDef, ast.Lambda))]


def says(text: str, function: FunctionType) -> bool:
    """Whether a text, at its top, says what a function runs: a file may be another one by now, and a record too."""
    code = function.__code__
    parts = _functions_in(text, code.co_flags & _FUTURE)
    return any(part.replace(co_name=code.co_name) == code for part in parts)


@functools.lru_cache(maxsize=1)  # functions of one file come one after the other
def _functions_in(text: str, flags: int) -> list[CodeType]:
    module = compile(text, "", "exec", flags=flags, dont_inherit=True)
    return [part for part in module.co_consts if isinstance(part, CodeType)]


def translated(
    text: str, function: FunctionType, restarts: bool = True, inside: str = ""
) -> Translated | None:
    """A function's machine code, or None where it has a statement that is not known, or nothing is known here.

    It runs as long as the function has the code that it has now, and which says `text` (see `says`); or which is
    what a text defines somewhere `inside` ("exec" for one of statements, "eval" for an expression).
    """
    if not agrees():
        return None
    above = 0
    if inside:
        found = definition_in(text, function, inside)
        above = function.__code__.co_firstlineno - 1
    else:
        found = next(n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef))
    if found is None:
        return None
    try:
        return Translated(found, function, restarts, above)
    except Refused:
        return None
