"""NNPACK, which this engine does not use; its switch can be set."""

from __future__ import annotations

from ._switches import switches

__all__ = ["flags", "is_available", "set_flags"]

enabled = False

set_flags, flags = switches(__name__, enabled=False)


def is_available() -> bool:
    """Whether NNPACK can be used: no."""
    return False
