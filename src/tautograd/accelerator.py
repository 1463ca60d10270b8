"""The accelerator of this machine: so far there is none, and the CPU does the work."""

from __future__ import annotations

from typing import Any

__all__ = ["current_accelerator", "device_count", "is_available", "synchronize"]


def is_available() -> bool:
    """Whether there is an accelerator: no."""
    return False


def device_count() -> int:
    """How many there are: none."""
    return 0


def current_accelerator(check_available: bool = False) -> Any:
    """The accelerator in use: none."""
    return None


def synchronize(device: Any = None) -> None:
    """Wait for it: there is nothing to wait for."""
