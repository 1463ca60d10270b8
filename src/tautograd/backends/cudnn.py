"""cuDNN, which there is none of; its switches can be set."""

from __future__ import annotations

__all__ = ["allow_tf32", "benchmark", "deterministic", "enabled", "is_available", "version"]

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether cuDNN can be used: no."""
    return False


def version() -> int | None:
    """The version of cuDNN: none."""
    return None
