"""Ranks as processes: the decorator that scripts put on their `main`."""

from . import errors

__all__ = ["errors"]
