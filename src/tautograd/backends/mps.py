"""Metal, which this engine does not use."""

from __future__ import annotations

__all__ = ["is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]


def is_available() -> bool:
    """Whether Metal can be used: no."""
    return False


def is_built() -> bool:
    """Whether it is part of this build: no."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether Metal can be used, on this macOS or a newer one: no."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Whether Metal can be used, on macOS 13 or newer: no."""
    return False
