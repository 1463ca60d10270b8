"""Machine code in the place of what Python runs: of recorders, and of the functions that walk backward."""

from __future__ import annotations

import ctypes
import importlib
import inspect
import os
import sys
import textwrap
import threading
from types import FunctionType
from typing import Any

from ...._autograd.lifted import DIRECT
from ...._autograd.recorder_text import text_of
from ...._ops.declare.code_holders import changing, holder, in_machine_code
from ..llvm.jit import why_not
from .bind import Translated, says, translated
from .layout import agrees, pythons_own, vectorcall_offset

PACKAGE = __name__.partition(".")[0]
# What every pass calls, or every operation: by module, each after what it calls.
OFTEN = {
    "_tensor.tensor": ("make", "current_node"),
    "_autograd.saved": ("unpack", "as_tensor"),
    "_autograd.lifted": ("_outputs", "saved_tensors", "_directly", "run_lifted"),
    "_autograd.api": ("ones_like_root",),
    "_autograd.backward_pass.chain_rule": ("fit", "run_rules"),
    "_autograd.backward_pass.arrivals": ("accumulate_leaf",),
    "_autograd.backward_pass.engine": (
        *("deliver", "_deliver_fitted", "_arrive_at_leaf", "_count_leaf_edges"),
        *("_walk_arrays", "_walk_lifted", "walk"),
    ),
}
_kept: list[Any] = []  # a thread may be in the midst of code that is no longer called
_translated: set[str] = set()
_installing = threading.RLock()  # (not `making`: others would wait for the compiler)


def _after_fork() -> None:
    global _installing
    _installing = threading.RLock()  # a thread that had it has stayed behind


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def install(function: Any) -> None:
    """Let calls of a function of an operation go to machine code, where it can be had."""
    if why_not() is not None or not agrees():
        return
    with _installing:
        if function not in in_machine_code:
            _recorder(function)
        _functions()


def _recorder(function: Any) -> None:
    scope = function.__globals__
    op, kind = scope["op"], scope["kind"]
    text = text_of(op, kind)
    if not says(text, function) and "write_again" in scope:  # it counts its calls, perhaps
        scope["write_again"](function)
    found = translated(text, function) if says(text, function) else None
    if found is None:
        return
    _kept.append(found)
    with changing:
        # It may have become another one meanwhile, or look for classes to ask first.
        if function.__code__ is not found.code or holder(function) is not function:
            return
        builtin = found.builtin(function)
        by_name = op.apply is function
        places = _places(function)

        def undo() -> None:
            _set_call(function, pythons_own())
            for held, name in places:
                if held.get(name) is builtin:
                    held[name] = function
            if by_name and op.apply is builtin:
                op.apply = function

        in_machine_code[function] = undo
        _set_call(function, found.address)
        if by_name:
            op.apply = builtin
        for held, name in places:
            held[name] = builtin


def _places(function: Any) -> list[tuple[dict[Any, Any], Any]]:
    """Where a function is called from by its name: in modules of the engine, and in the table for rules."""
    found = [(table, key) for table in (DIRECT,) for key, held in table.items() if held is function]
    for members in _modules():
        found += [(members, name) for name, held in list(members.items()) if held is function]
    return found


def _modules() -> list[dict[str, Any]]:
    """What the engine's modules that begin with `_` hold: names that are nobody else's."""
    return [
        vars(module)
        for name, module in list(sys.modules.items())
        if name.startswith(f"{PACKAGE}._")
    ]


def _set_call(function: FunctionType, address: int) -> None:
    """Where a call of a function goes that CPython makes (by an operator, or another slot of a type)."""
    ctypes.c_size_t.from_address(id(function) + vectorcall_offset()).value = address


def _functions() -> None:
    """Let functions that are called often go to machine code, wherever their names are."""
    for place, names in OFTEN.items():
        module = importlib.import_module(f"{PACKAGE}.{place}")
        for name in names:
            if f"{place}.{name}" not in _translated:
                _translated.add(f"{place}.{name}")
                function = getattr(module, name)
                if isinstance(function, FunctionType):
                    _function(function)


def _function(function: FunctionType) -> None:
    found = of_source(function)
    if found is None:
        return
    builtin = found.builtin(function)
    for held, name in _places(function):
        held[name] = builtin


def of_source(function: FunctionType) -> Translated | None:
    """The machine code of a function that somebody wrote."""
    file, _ = inspect.findsource(function)
    if not says("".join(file), function):
        return None
    text = textwrap.dedent(inspect.getsource(function))
    return translated(text, function, restarts=False)
