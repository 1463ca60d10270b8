"""The accelerator of this machine: a GPU, if there is one and CuPy to use it."""

from __future__ import annotations

from typing import Any

from ._arrays.devices import cuda_backend, device, gpu

__all__ = [
    "current_accelerator",
    "current_device_index",
    "device_count",
    "is_available",
    "set_device_index",
    "synchronize",
]


def is_available() -> bool:
    """Whether there is an accelerator."""
    return cuda_backend() is not None


def device_count() -> int:
    """How many there are."""
    found = cuda_backend()
    return 0 if found is None else int(found.device_count())


def current_accelerator(check_available: bool = False) -> Any:
    """The kind of accelerator in use, or None."""
    return None if cuda_backend() is None else device("cuda")


def current_device_index() -> int:
    """The number of the accelerator in use."""
    from .cuda import current_device

    return current_device()


def set_device_index(device: Any) -> None:
    """Choose an accelerator."""
    from .cuda import set_device

    set_device(gpu(device) if isinstance(device, int) else device)


def synchronize(device: Any = None) -> None:
    """Wait for it, if there is one."""
    if cuda_backend() is not None:
        from .cuda import synchronize

        synchronize(device)
