"""Floating-point exceptions without a word: PyTorch's `log(0)` is `-inf` and no warning.

NumPy warns unless its error state says otherwise, and `np.errstate` costs more than a small
operation does. The state itself is one context variable; setting and resetting that is cheap. Where
a NumPy keeps it elsewhere, `np.errstate` does the same at its own price.

    token = hush()
    try: …
    finally: unhush(token)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

IGNORE: Any = None
set_state: Callable[[Any], Any]
unhush: Callable[[Any], None]

try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj

    IGNORE = _make_extobj(all="ignore")
    set_state = _extobj_contextvar.set
    unhush = _extobj_contextvar.reset
except ImportError:  # pragma: no cover - another layout of NumPy's internals

    def set_state(state: Any) -> Any:
        context = np.errstate(all="ignore")
        context.__enter__()
        return context

    def unhush(token: Any) -> None:
        token.__exit__(None, None, None)


def hush() -> Any:
    """Silence floating-point warnings; hand the result to `unhush`."""
    return set_state(IGNORE)
