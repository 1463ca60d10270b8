"""Which code runs while a function is recorded, and whether it was read: else nobody knows what it depends on.

Guards know what is written in the functions that `reachable` has read. A function of Python's library, a descriptor, a
hook or a method that a metaclass calls may read anything; so may a function in C. `Strangers` sees every one of them
start (CPython tells a profiler). Only those in C that are known to depend on nothing but their arguments pass, so what
is not known is never assumed: such a function runs its Python at each call, or is refused.
"""

from __future__ import annotations

import builtins
import contextlib
import copy
import inspect
import os
import sys
from collections.abc import Iterable
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from ..._autograd.modes import modes
from ..._user_code.owners import Owner, owners

_PURE_BUILTINS = frozenset(
    getattr(builtins, name)
    for name in (
        *(
            "abs",
            "all",
            "any",
            "bin",
            "callable",
            "chr",
            "divmod",
            "hex",
            "isinstance",
            "issubclass",
        ),
        *("iter", "len", "max", "min", "oct", "ord", "pow", "print", "round", "sorted", "sum"),
        *("setattr", "delattr", "__build_class__"),
    )
)
_NUMBERS = frozenset((int, float, bool, str))  # what an engine's state may be told by
_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_CONTEXTS = contextlib.contextmanager.__code__.co_filename
_NUMPY = os.path.dirname(np.__file__) + os.sep
_PURE_MODULES = frozenset(("math", "cmath", "_operator", "itertools"))
# Whose methods say only what their object holds, which is guarded where it is reached.
_PLAIN = (
    list,
    dict,
    set,
    frozenset,
    tuple,
    str,
    bytes,
    bytearray,
    int,
    float,
    complex,
    bool,
    range,
    slice,
)


class Strangers:
    """A context: notes the first code that runs in it and was not read."""

    def __init__(self, functions: Iterable[Any], unwatched: Any) -> None:
        self._known: set[CodeType] = set()
        self._unwatched = unwatched  # where the tape works by itself
        for function in functions:
            self._know(function.__code__)
        self.found: str | None = None
        self.site: Any = None
        self._before: Any = None
        self._outer: Any = None

    def _know(self, code: CodeType) -> None:
        if code not in self._known:
            self._known.add(code)
            for constant in code.co_consts:
                if isinstance(constant, CodeType):
                    self._know(constant)

    def __enter__(self) -> Strangers:
        self._before = sys.getprofile()
        self._outer = sys._getframe(1)
        look = self._looking()
        if self._before is None:  # else that profiler sees all there is
            self._unwatched.watch = look
        sys.setprofile(look)
        return self

    def __exit__(self, *error: object) -> None:
        self._unwatched.watch = None
        before = self._before
        if before is None or callable(before):
            sys.setprofile(before)
        else:  # a profiler in C, as `cProfile` is: it can only be told to go on by itself
            sys.setprofile(None)
            before.enable()
        self._before = self._outer = None

    def _looking(self) -> Any:
        """What is told of every call of a recording. Most are the engine's own, so those leave first."""
        known, of, engine, numbers = self._known, owners, int(Owner.ENGINE), _NUMBERS

        def look(frame: Any, event: str, argument: Any) -> None:
            code = frame.f_code
            if of[code.co_filename] >= engine:
                if code.co_argcount:
                    return
                if event == "return" and type(argument) in numbers:
                    self._returned(frame)
                elif event == "call" and code.co_filename.startswith(_NUMPY):
                    self._asked(frame)
            elif event == "c_call":
                if not _is_pure(argument):
                    self._see_c(frame, argument)
            elif event == "call" and code not in known:
                self._see(frame)

        before = self._before
        if before is None or not callable(before):
            return look

        def both(frame: Any, event: str, argument: Any) -> None:
            before(frame, event, argument)
            look(frame, event, argument)

        return both

    def _see(self, frame: Any) -> None:
        """A function that was not read has started."""
        if _is_transparent(frame):
            return
        code, caller = frame.f_code, self._caller(frame.f_back)
        if not self._is_off() and (owners[code.co_filename] is Owner.USERS or caller is not None):
            self._note(f"`{getattr(code, 'co_qualname', code.co_name)}`", caller or frame)

    def _see_c(self, frame: Any, function: Any) -> None:
        off = self._is_off() or _is_transparent(frame)
        caller = None if off else self._caller(frame)
        if caller is not None:
            self._note(f"`{getattr(function, '__qualname__', function)}`", caller)

    def _is_off(self) -> bool:
        """Whether nothing more is looked for: what a schedule calls is called at each replay, too."""
        tape = modes.recorder
        return self.found is not None or (tape is not None and tape.paused)

    def _returned(self, frame: Any) -> None:
        """A function of the engine's that is given nothing, and so says something of its state."""
        if owners[frame.f_code.co_filename] != Owner.ENGINE or self._is_off():
            return
        back = frame.f_back
        if (
            back is None
            or back is self._outer
            or owners[back.f_code.co_filename] is not Owner.USERS
        ):
            return
        code = frame.f_code
        if not code.co_argcount and not code.co_kwonlyargcount and not code.co_flags & _VARIADIC:
            self._note(f"`{frame.f_code.co_name}`", back)

    def _asked(self, frame: Any) -> None:
        """A function of NumPy's that is given nothing, and so says something of its settings."""
        code, back = frame.f_code, frame.f_back
        takes = code.co_kwonlyargcount or code.co_flags & _VARIADIC
        if takes or self._is_off() or back is None or back is self._outer:
            return
        if owners[back.f_code.co_filename] is Owner.USERS:
            self._note(f"`{code.co_name}`", back)

    def _caller(self, frame: Any) -> Any:
        """The user's frame that calls, through libraries; None if it is the engine that does."""
        while frame is not None and frame is not self._outer:
            owner = owners[frame.f_code.co_filename]
            if owner is Owner.USERS:
                return frame
            if owner >= Owner.ENGINE:
                return None
            frame = frame.f_back
        return None

    def _note(self, what: str, frame: Any) -> None:
        self.found = f"{what}, which may read what no guard sees,"
        self.site = frame.f_code, frame.f_lasti


def _is_transparent(frame: Any) -> bool:
    """Whether this is code of Python's that reads nothing by itself: what it calls is seen, too.

    That is `copy`, and `contextmanager` around a function of the engine's, as `fork_rng` is.
    """
    if frame.f_code.co_filename != _CONTEXTS:
        return bool(frame.f_code.co_filename == copy.__file__)
    held = frame.f_locals
    made_by = getattr(held.get("func"), "__code__", None)
    running = getattr(getattr(held.get("self"), "gen", None), "gi_code", None)
    code = made_by or running
    return code is not None and owners[code.co_filename] == Owner.ENGINE


def _is_pure(function: Any) -> bool:
    owner = getattr(function, "__self__", None)
    if isinstance(owner, ModuleType):
        if owner is builtins:
            return function in _PURE_BUILTINS
        return owner.__name__ in _PURE_MODULES
    return type(owner) in _PLAIN
