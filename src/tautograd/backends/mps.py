"""Metal, which this engine does not use."""

from __future__ import annotations

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """Whether Metal can be used: no."""
    return False


def is_built() -> bool:
    """Whether it is part of this build: no."""
    return False
