"""Machine code in the place of what Python runs: of recorders, and of the functions that walk backward."""

from __future__ import annotations

import ctypes
import importlib
import inspect
import os
import sys
import threading
from types import CodeType, FunctionType
from typing import Any

from ...._autograd.lifted import DIRECT
from ...._autograd.recorder_text import text_of
from ...._ops.declare.code_holders import changing, holder, in_machine_code, texts
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
# Methods that C calls, by the slots of their classes or from machine code; and those that go on to functions which are
# called as often.
METHODS = {
    "_compile.run.compiled": ("Compiled.__call__",),
    "nn.modules.module": ("Module.__call__",),
    "nn.modules.linear": ("Linear.forward",),
}
GO_ON = {"Linear.forward"}
_kept: list[Any] = []  # a thread may be in the midst of code that is no longer called
_translated: set[str] = set()
# By code and the names around it, which are kept, so that their id stays theirs.
_by_code: dict[tuple[CodeType, int], tuple[Translated | None, dict[str, Any]]] = {}
_seen: dict[int, Any] = {}  # functions that were looked at, by their ids (which they so keep)
_HERE = os.path.abspath(os.path.join(os.path.dirname(__file__), *(os.pardir,) * 3)) + os.sep
_RARE = "refuse", "_refuse", "check", "_check", "require", "_wrong"  # which speak of what is wrong
_installing = threading.RLock()  # (not `making`: others would wait for the compiler)


def _after_fork() -> None:
    global _installing
    _installing = threading.RLock()  # a thread that had it has stayed behind


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def install(function: Any) -> None:
    """Let calls of a function of an operation go to machine code, where it can be had; or those that C makes of
    another function of the engine's."""
    if why_not() is not None or not agrees():
        return
    with _installing:
        if "write_again" not in function.__globals__:
            _for_callers_in_c(function)
        elif function not in in_machine_code:
            _recorder(function)
        _functions()


def _for_callers_in_c(function: FunctionType) -> Translated | None:
    """Let the function be machine code for whoever calls it from C, or from machine code."""
    found = of_source(function)
    if found is not None:
        _set_call(function, found.address)
    return found


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
    _with_what_it_calls(op.forward)
    if op.vjp is not None:
        _with_what_it_calls(op.rules or op.joined_rules())
        for rule in op.vjp if isinstance(op.vjp, tuple) else (op.vjp,):
            # (One that is derived when it is first used is none yet.)
            _with_what_it_calls(rule and rule.source)


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

    for place, names in METHODS.items():
        loaded = sys.modules.get(f"{PACKAGE}.{place}")
        for name in names if loaded is not None else ():
            if f"{place}.{name}" not in _translated:
                _translated.add(f"{place}.{name}")
                kind, _, method = name.partition(".")
                own = vars(vars(loaded)[kind]).get(method)
                if isinstance(own, FunctionType):
                    _with_what_it_calls(own, 3 if name in GO_ON else 1)


def _function(function: FunctionType) -> None:
    found = of_source(function)
    if found is None:
        return
    builtin = found.builtin(function)
    for held, name in _places(function):
        held[name] = builtin


def of_source(function: FunctionType) -> Translated | None:
    """The machine code of a function that somebody wrote; those that share its code and its names share that, too."""
    code = function.__code__
    whose = code, id(function.__globals__)
    if whose not in _by_code:
        text = texts.get(code)
        kind = "eval" if text is not None and text.startswith("lambda ") else "exec"
        if text is None:
            text = "".join(inspect.findsource(function)[0])
        found = translated(text, function, restarts=False, inside=kind)
        _by_code[whose] = found, function.__globals__
    return _by_code[whose][0]


def _with_what_it_calls(function: Any, depth: int = 4) -> None:
    """Let a function of the engine's, and the functions that it calls by their names, be machine code where machine
    code calls them: each stays the object it is, and Python's where Python calls it."""
    if type(function) is not FunctionType or not depth or id(function) in _seen:
        return
    if not function.__code__.co_filename.startswith(_HERE) or function.__name__.startswith(_RARE):
        return
    # (A function of an operation, which counts its own calls, is in its own scope by that name.)
    if function.__globals__.get("function") is function:
        return
    _seen[id(function)] = function
    found = _for_callers_in_c(function)
    if found is None:
        return
    for name in found.calls:
        _with_what_it_calls(found.named(function, name), depth - 1)
