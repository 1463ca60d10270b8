"""The CPU, asked as if it were an accelerator."""

from __future__ import annotations

from typing import Any

from . import amp

__all__ = ["amp", "current_device", "device_count", "is_available", "is_initialized"]
__all__ += ["set_device", "synchronize"]


def is_available() -> bool:
    """Whether there is a CPU: yes."""
    return True


def is_initialized() -> bool:
    """Whether it is in use: yes."""
    return True


def device_count() -> int:
    """How many there are: it counts as one."""
    return 1


def current_device() -> str:
    """The one in use."""
    return "cpu"


def set_device(device: Any) -> None:
    """Choose one: there is no other."""


def synchronize(device: Any = None) -> None:
    """Wait for it: what it does is done."""
