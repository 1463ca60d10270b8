"""Suppressing floating-point warnings: PyTorch's `log(0)` is `-inf`, without a warning.

NumPy warns unless its error state says otherwise, and `np.errstate` costs more than a small
operation. That state is a context variable, so entering a context with another state for
the length of a call has the same effect, and costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context, ContextVar
from typing import Any

import numpy as np

_inside: ContextVar[bool] = ContextVar("inside", default=False)  # whether this is such a context


def quiet_runner() -> Callable[..., Any]:
    """`run(function, *args, **kwargs)`, without warnings, for one thread.

    A context cannot be entered twice at a time, so what runs there must not re-enter it: array
    functions, never a user's code.
    """
    context = Context()
    context.run(np.seterr, all="ignore")
    context.run(_inside.set, True)
    return context.run


def is_used_elsewhere(error: RuntimeError) -> bool:
    """Whether an error that was just caught means that another thread is using a runner.

    If it is this thread, the call is re-entrant, as when a tensor stands for a number in an array
    function; that is a genuine error.
    """
    trace = error.__traceback__
    if trace is None or trace.tb_next is not None:  # raised by what it ran
        return False
    return str(error).startswith("cannot enter context") and not _inside.get()


def quietly_apart(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The same in a separate context, for when another thread is using the current one."""
    return quiet_runner()(function, *args, **kwargs)
