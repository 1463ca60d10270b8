"""The names by which the recorder knows the user's code."""

from __future__ import annotations

from .._user_code.owners import internal

__all__ = ["internal"]
