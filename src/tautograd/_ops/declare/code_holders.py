"""Which function holds the code that a public function runs: itself, or another one that it goes on to.

Functions that look for subclasses first (`subclasses`) have code for that, and go on to a function with the code
that they had. Whoever writes a public function's code later, or reads it, means that one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from ..._arrays.once import held_at_fork

changing = threading.RLock()
held_at_fork.append(changing)
texts: dict[CodeType, str] = {}
"""Of functions that are in no file: the text that each is part of."""
in_machine_code: dict[Any, Callable[[], None]] = {}
"""Functions that run as machine code of what they say, each with what makes it Python's again."""


def holder(fn: Any) -> Any:
    """The function with the code."""
    whose, inner = fn.__dict__.get("code_holder", (None, None))
    return inner if whose is fn else fn  # a wrapper copies the attributes of what it wraps


def hold(fn: FunctionType, inner: FunctionType) -> None:
    """Say that `fn` goes on to `inner`."""
    fn.__dict__["code_holder"] = fn, inner


def give_code(fn: Any, code: CodeType) -> None:
    """Let a function be this, and Python run it."""
    with changing:
        back_to_python(fn)
        holder(fn).__code__ = code


def back_to_python(fn: Any) -> None:
    """Let Python run a function again."""
    undo = in_machine_code.pop(fn, None)
    if undo is not None:
        undo()
