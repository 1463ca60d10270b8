"""Floating-point exceptions without a word: PyTorch's `log(0)` is `-inf` and no warning.

NumPy warns unless its error state says otherwise, and `np.errstate` costs more than a small
operation does. That state is a context variable, so a context that holds another one, entered for
the length of a call, is as good, and costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context, ContextVar
from typing import Any

import numpy as np

_inside: ContextVar[bool] = ContextVar("inside", default=False)  # whether this is such a context


def quiet_runner() -> Callable[..., Any]:
    """`run(function, *args, **kwargs)`, without warnings, for one thread.

    A context can be entered once at a time, so what runs there must not come back here: array
    functions, never a user's code.
    """
    context = Context()
    context.run(np.seterr, all="ignore")
    context.run(_inside.set, True)
    return context.run


def is_used_elsewhere(error: RuntimeError) -> bool:
    """Whether an error that was just caught says that another thread is at work with a runner.

    If it is this thread, what runs there has come back, as where a tensor stands for a number in an array
    function; that is an error, and stays one.
    """
    trace = error.__traceback__
    if trace is None or trace.tb_next is not None:  # not the runner's own, but of what it ran
        return False
    return str(error).startswith("cannot enter context") and not _inside.get()


def quietly_apart(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The same in a context of its own, for when another thread is in the one at hand."""
    return quiet_runner()(function, *args, **kwargs)
