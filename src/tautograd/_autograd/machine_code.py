"""When recorders, and what walks backward, become machine code: once a program has called them often.

At first a recorder counts its calls. When it has paid for a compiler (`_arrays/kernels`), it is asked for: a thread of
its own translates it (`_compile/native/python_code`) or finds it among what was translated before, and then calls
go there. Until then, where there is no compiler or `TAUT_KERNELS=0` says so, and for whatever the translation does not
know, Python runs the same text. `TAUT_RECORDERS=python` keeps to that; `TAUT_RECORDERS=now` has each translated when
it is first called, for tests.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
from typing import Any

from .._arrays.kernels import is_off, pays_for_a_compiler
from .._arrays.once import held_at_fork, making

MAKER = "tautograd._compile.native.python_code.install"
FEWEST = 512  # calls of one function

_calls: dict[Any, int] = {}
_asked: list[Any] = []
_lock = threading.Lock()
held_at_fork.append(_lock)
_at_once = os.environ.get("TAUT_RECORDERS", "") == "now"
_never = os.environ.get("TAUT_RECORDERS", "") == "python"
_worker: threading.Thread | None = None


def counts_calls(kind: str) -> bool:
    """Whether a function of an operation is to count its calls."""
    return kind != "record" and not _never and not _at_once and not is_off()


def written(function: Any, kind: str) -> None:
    """A function of an operation has its code."""
    _calls.pop(function, None)
    if _at_once and kind != "record" and not is_off():
        _made(function)


def counted(function: Any) -> None:
    """Called by a function at its start, as long as it counts."""
    calls = _calls[function] = _calls.get(function, 0) + 1
    if calls >= FEWEST and pays_for_a_compiler(calls):
        _calls.pop(function, None)
        function.__globals__["write_again"](function)
        _ask_for(function)


def wanted(*functions: Any) -> None:
    """Let functions that call nothing of the program's (those of a compiled step, which are called often as soon as
    they are there) run as machine code of what they say, where Python's functions are called from machine code."""
    if _never or is_off():
        return
    if _at_once:
        _made(*functions)
    else:
        _ask_for(*functions)


def _ask_for(*functions: Any) -> None:
    global _worker
    with _lock:
        _asked.extend(functions)
        if _worker is not None:
            return
        thread = threading.Thread(target=_work, name="tautograd-recorders", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the process ends, or may have no more threads: Python goes on
            return
        _worker = thread


def _work() -> None:
    global _worker
    while True:
        with _lock:
            if not _asked:
                _worker = None
                return
            function = _asked.pop(0)
        # What goes wrong here is no matter of the program's, which goes on as it is.
        with contextlib.suppress(Exception):
            _made(function)


def _made(*functions: Any) -> None:
    with making:  # so that a child of a fork finds no module of which half is imported
        maker = importlib.import_module(MAKER)
    for function in functions:
        maker.install(function)


def _after_fork() -> None:
    global _worker
    _worker = None  # it has stayed behind


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
