"""What all of `tautograd.cuda` asks first: is there a GPU, and which one is meant."""

from __future__ import annotations

from typing import Any

from .._arrays.cuda.cuda_backend import Found
from .._arrays.devices import cuda_backend
from .._arrays.devices import device as device_type


def needed() -> Any:
    """What computes on the GPU; an error that says what is missing where there is none."""
    found = cuda_backend()
    if found is None:
        raise AssertionError(f"Torch not compiled with CUDA enabled: {Found.reason}")
    return found


def index_of(device: Any) -> int:
    """The number of a GPU, from a number, a name or a device; the current one for None."""
    if device is None:
        return int(needed().current_device())
    if isinstance(device, int) and not isinstance(device, bool):
        return device
    found = device if isinstance(device, device_type) else device_type(device)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    return int(needed().current_device()) if found.index is None else found.index


def on(device: Any) -> Any:
    """CuPy's context of a GPU."""
    return needed().cupy.cuda.Device(index_of(device))
