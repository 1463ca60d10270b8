"""The line of a function at which something is done that cannot be recorded, as its code has it.

That a counter has changed, or that random numbers were drawn, is seen when the function has run. Which line did it is
found in the code of the functions that were read: one that stores under the name, or names what was changed beside
something that changes things. Where no line is found, it is the function's first one.
"""

from __future__ import annotations

import dis
import functools
import random
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from ..._user_code.sites import Mark

_CHANGING = {
    *("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "fill"),
    *("setdefault", "popitem", "add", "discard", "appendleft", "popleft", "extendleft", "rotate"),
    *("difference_update", "intersection_update", "symmetric_difference_update", "setattr"),
}
_STORING = ("STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR", "STORE_NAME", "DELETE_ATTR")
_INTO = ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE", "STORE_ATTR", "DELETE_ATTR")
MODES = {
    *("set_grad_enabled", "set_default_dtype", "set_autocast_enabled", "set_autocast_dtype"),
    *("_set_grad_enabled", "set_autocast_cpu_enabled", "__enter__"),
}
HOOKS = {"register_hook", "register_post_accumulate_grad_hook", "register_prehook"}
_DRAWING = (random.Random, np.random.Generator, np.random.RandomState)

Line = list[dis.Instruction]


class Lines:
    """The lines of some functions."""

    def __init__(self, functions: list[Any], otherwise: Any) -> None:
        self.functions = functions
        self.otherwise: Mark | None = otherwise

    def storing(self, name: str) -> Mark | None:
        """Where something is put under a name, or what the name stands for is changed."""
        found = self._first(lambda line, _: any(_stores(i, name) for i in line))
        return found or self.changing({name})

    def changing(self, names: set[str]) -> Mark | None:
        """Where what one of the names stands for is changed."""
        return self._first(lambda line, _: _changes(line, names)) or self.otherwise

    def changing_arguments(self) -> Mark | None:
        """Where an argument of the first function is changed."""
        names: set[str] = set()
        for function in self.functions[:1]:
            code = function.__code__
            extra = bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
            names = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + extra])
        return self.changing(names)

    def drawing(self) -> Mark | None:
        """Where a random number of Python or NumPy is drawn."""
        return self._first(_draws) or self.otherwise

    def naming(self, names: set[str]) -> Mark | None:
        """Where one of the names is used."""
        return self._first(lambda line, _: any(i.argval in names for i in line if _is_name(i))) or (
            self.otherwise
        )

    def _first(self, does: Callable[[Line, Any], bool]) -> Mark | None:
        for function in self.functions:
            for code, line in lines_of(function.__code__):
                if does(line, function):
                    return code, line[0].offset
        return None


def lines_of(code: CodeType) -> Iterator[tuple[CodeType, Line]]:
    """Instructions by lines, also of functions inside."""
    yield from _lines_of(code)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from lines_of(constant)


@functools.lru_cache(256)
def _lines_of(code: CodeType) -> tuple[tuple[CodeType, Line], ...]:
    found: dict[int | None, Line] = {}
    for instruction in dis.get_instructions(code):
        at = instruction.positions.lineno if instruction.positions is not None else None
        if at is not None and instruction.opname != "RESUME":
            found.setdefault(at, []).append(instruction)
    return tuple((code, line) for line in found.values())


def _is_name(instruction: dis.Instruction) -> bool:
    return isinstance(instruction.argval, str) and instruction.opname != "LOAD_CONST"


def _stores(instruction: dis.Instruction, name: str) -> bool:
    return instruction.opname in _STORING and instruction.argval == name


def _changes(line: Line, names: set[str]) -> bool:
    if not any(i.argval in names for i in line if _is_name(i)):
        return False
    if any(i.argval in _CHANGING for i in line if _is_name(i)):
        return True
    return any(i.opname in _INTO or _is_in_place(i) for i in line)


def _is_in_place(instruction: dis.Instruction) -> bool:
    return instruction.opname == "BINARY_OP" and instruction.argrepr.endswith("=")


def _draws(line: Line, function: Any) -> bool:
    values = _values_of(function)
    for instruction in line:
        if not _is_name(instruction):
            continue
        value = values(instruction.argval)
        if isinstance(value, _DRAWING) or isinstance(getattr(value, "__self__", None), _DRAWING):
            return True
        if value is random or value is np.random:
            return True
        is_numpy = isinstance(value, ModuleType) and value is np
        if is_numpy and any(i.argval == "random" for i in line if _is_name(i)):
            return True
    return False


def _values_of(function: Any) -> Callable[[str], Any]:
    """What names stand for in a function: of its closure, else global ones."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

    def look(name: str) -> Any:
        if name in cells:
            try:
                return cells[name].cell_contents
            except ValueError:  # not filled
                return None
        return function.__globals__.get(name)

    return look
