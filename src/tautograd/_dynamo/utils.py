"""`torch._dynamo.utils`: whether PyTorch's compiler could compile for a device. There is none here."""

from __future__ import annotations

from typing import Any

__all__ = ["is_compile_supported"]


def is_compile_supported(device_type: Any) -> bool:
    """Never: `tautograd.compile` reads no bytecode and makes no kernels for Inductor."""
    return False
