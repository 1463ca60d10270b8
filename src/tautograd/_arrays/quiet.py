"""Floating-point exceptions without a word: PyTorch's `log(0)` is `-inf` and no warning.

NumPy warns unless its error state says otherwise, and `np.errstate` costs more than a small
operation does. The state itself is one context variable; setting and resetting that is cheap. Where
a NumPy keeps it elsewhere, `np.errstate` does the same at its own price.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

hush: Callable[[], Any]
unhush: Callable[[Any], None]

try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj

    _IGNORE = _make_extobj(all="ignore")
    _set = _extobj_contextvar.set

    def hush() -> Any:
        """Silence floating-point warnings; hand the result to `unhush`."""
        return _set(_IGNORE)

    unhush = _extobj_contextvar.reset
except ImportError:  # pragma: no cover - another layout of NumPy's internals

    def hush() -> Any:
        state = np.errstate(all="ignore")
        state.__enter__()
        return state

    def unhush(token: Any) -> None:
        token.__exit__(None, None, None)
