"""`torch.distributed`, as PyTorch has it where it was built without process groups: not available.

Programs and libraries ask `is_available()` before they use it, and go on with one process.
"""

from __future__ import annotations

from typing import Any

__all__ = ["is_available", "is_initialized"]


def is_available() -> bool:
    """Whether there are process groups: there are none."""
    return False


def is_initialized() -> bool:
    """Whether this process has joined a group: there is none to join."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether `torchrun` has started this process."""
    return False


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"module 'torch.distributed' has no attribute '{name}': there are no process groups here, "
        "and torch.distributed.is_available() is False"
    )
