"""Which function holds the code that a public function runs: itself, or another one that it goes on to.

Functions that look for subclasses first (`subclasses`) have code for that, and go on to a function with the code
that they had. Whoever writes a public function's code later, or reads it, means that one.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any


def holder(fn: Any) -> Any:
    """The function with the code."""
    whose, inner = fn.__dict__.get("code_holder", (None, None))
    return inner if whose is fn else fn  # a wrapper copies the attributes of what it wraps


def hold(fn: FunctionType, inner: FunctionType) -> None:
    """Say that `fn` goes on to `inner`."""
    fn.__dict__["code_holder"] = fn, inner
