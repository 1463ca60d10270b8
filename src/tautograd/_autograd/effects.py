"""Python code that a compiled function must run again at every replay, or cannot: schedules, hooks.

Such a function changes Python's own state (a learning rate, a generator) and no tensor. While a
computation is recorded for compiling, the tape notes the call; otherwise it is just called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from .modes import modes

# Moved on whenever a module's attribute is set or a hook comes or goes. While it stands still, a compiled
# function need not look at modules and hooks again.
structure = [0]

Function = TypeVar("Function", bound=Callable[..., Any])


def replayed(function: Function) -> Function:
    """Mark a function as one that is called at every replay of what called it."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if modes.recorder is None:
            return function(*args, **kwargs)
        return modes.recorder.effect(function, args, kwargs)

    return call  # type: ignore[return-value]


def call_hook(hook: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function that a user hung somewhere.

    What it does with tensors is recorded like everything else. One that only looks on would not be
    called by a program, so the tape refuses it.
    """
    if modes.recorder is None:
        return hook(*args, **kwargs)
    return modes.recorder.hooked(hook, args, kwargs)


def put_off_no_longer(what: str) -> None:
    """Said before something is read or changed that calls put off till later depend on: they are made first."""
    if modes.deferred is not None:
        modes.deferred.force(what)


def value_asked(what: str, advice: str) -> None:
    """Said where a tensor's values leave the engine: while a computation is recorded they must not."""
    put_off_no_longer(what)
    if modes.recorder is not None:
        modes.recorder.asked(what, advice)
