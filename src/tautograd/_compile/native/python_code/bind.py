"""Translated functions in memory: what their code names, and functions of CPython's kind that run it."""

from __future__ import annotations
import __future__

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
from .translate import ENTRY, Translation

_FUTURE = __future__.annotations.compiler_flag
_WITH_NAMES = 0x0080 | 0x0002  # METH_FASTCALL | METH_KEYWORDS


class Translated:
    """The machine code of one function, with the objects it names; it stays until the process ends."""

    def __init__(self, text: str, function: FunctionType, restarts: bool) -> None:
        translation = Translation(function, text, restarts)
        body = translation.text()  # (defaults put objects into the table)
        self.module = f"{prelude.text()}\n{HELPERS}\n{body}"
        self.held = translation.table
        self.code = self.held[0]
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
    text: str,
    function: FunctionType,
    restarts: bool = True,
) -> Translated | None:
    """A function's machine code, or None where it has a statement that is not known, or nothing is known here.

    It runs as long as the function has the code that it has now, and which says `text` (see `says`).
    """
    if not agrees():
        return None
    try:
        return Translated(text, function, restarts)
    except Refused:
        return None
