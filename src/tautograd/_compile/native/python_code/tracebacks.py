"""Entries of tracebacks: an error that goes through machine code says so, as it would of Python's frames.

Whoever reads a traceback (`_ops/declare/guarding` asks by it whose statement raised an error) finds the function's own
code, the line and the instruction there.
"""

from __future__ import annotations

import ctypes
import dis
from types import CodeType, FunctionType, TracebackType
from typing import Any

RAISES = frozenset((dis.opmap["RAISE_VARARGS"], dis.opmap["RERAISE"]))

_state = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyThreadState_Get", ctypes.pythonapi))
_new_frame = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object, ctypes.c_void_p
)(("PyFrame_New", ctypes.pythonapi))


class Trace:
    """What machine code calls when an error leaves it: a traceback with an entry for the place it was at."""

    def __init__(self, function: FunctionType, places: list[tuple[int, bool]]) -> None:
        self._code = function.__code__
        self._globals = function.__globals__
        self._places = places  # lines of the text, from 1, and whether the statement there raises

    def __call__(self, after: Any, number: int) -> TracebackType:
        line, raises = self._places[number]
        line += self._code.co_firstlineno - 1
        frame = _new_frame(_state(), self._code, self._globals, None)
        return TracebackType(after, frame, _instruction(self._code, line, raises), line)


def _instruction(code: CodeType, line: int, raises: bool) -> int:
    """Where in the code the line is: at what raises an error, or at what may meet one."""
    for i, (start, *_) in enumerate(code.co_positions()):
        if start == line and (code.co_code[2 * i] in RAISES) is raises:
            return 2 * i
    return 0


def unpacked_wrongly(values: tuple[Any, ...], expected: int) -> ValueError:
    """What Python says of a tuple that has not as many items as there are names for them."""
    if len(values) > expected:
        return ValueError(f"too many values to unpack (expected {expected})")
    return ValueError(f"not enough values to unpack (expected {expected}, got {len(values)})")
