"""KleidiAI, which this engine does not use."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether KleidiAI can be used: no."""
    return False
