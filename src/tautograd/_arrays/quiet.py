"""Floating-point exceptions without a word: PyTorch's `log(0)` is `-inf` and no warning.

NumPy warns unless its error state says otherwise, and `np.errstate` costs more than a small
operation does. That state is a context variable, so a context that holds another one, entered for
the length of a call, is as good, and costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from typing import Any

import numpy as np


def quiet_runner() -> Callable[..., Any]:
    """`run(function, *args, **kwargs)`, without warnings, for one thread.

    A context can be entered once at a time, so what runs there must not come back here: array
    functions, never a user's code.
    """
    context = Context()
    context.run(np.seterr, all="ignore")
    return context.run
