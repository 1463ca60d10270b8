"""Warnings that PyTorch gives once in a program, or each time after `set_warn_always(True)`."""

from __future__ import annotations

import warnings

from ..._tensor.settings import is_warn_always_enabled
from ..._user_code.sites import warning_level

_given: set[str] = set()


def warn_once(message: str) -> None:
    """Warn at the user's line, unless the same has been said before."""
    if message in _given and not is_warn_always_enabled():
        return
    _given.add(message)
    warnings.warn(message, UserWarning, stacklevel=warning_level())
