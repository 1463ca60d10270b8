"""The fast path of attention in evaluation mode: there is one path, so the switch is only kept."""

from __future__ import annotations

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_is_fastpath_enabled = True


def get_fastpath_enabled() -> bool:
    """What was set last; True at first."""
    return _is_fastpath_enabled


def set_fastpath_enabled(value: bool) -> None:
    """Note whether the fast path may be taken."""
    global _is_fastpath_enabled
    _is_fastpath_enabled = value
