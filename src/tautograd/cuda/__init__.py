"""CUDA, as a program without a GPU sees it: `is_available()` is False.

What asks or asks for nothing has PyTorch's answer; what would need a GPU is an error.
"""

from __future__ import annotations

from typing import Any

from . import amp

__all__ = [
    "amp",
    "current_device",
    "device_count",
    "empty_cache",
    "get_device_name",
    "get_device_properties",
    "get_rng_state_all",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "memory_allocated",
    "memory_reserved",
    "seed",
    "seed_all",
    "set_device",
    "synchronize",
]


def is_available() -> bool:
    """Whether there is a GPU to compute on: no."""
    return False


def is_initialized() -> bool:
    """Whether a GPU is in use: no."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the GPU has bfloat16: there is none."""
    return False


def device_count() -> int:
    """How many GPUs there are: none."""
    return 0


def manual_seed(seed: int) -> None:
    """Seed the GPU's generator, if there is one."""


def manual_seed_all(seed: int) -> None:
    """Seed every GPU's generator."""


def seed() -> None:
    """Seed the GPU's generator at random, if there is one."""


def seed_all() -> None:
    """Seed every GPU's generator at random."""


def get_rng_state_all() -> list[Any]:
    """The states of every GPU's generator."""
    return []


def empty_cache() -> None:
    """Give unused memory of the GPU back."""


def memory_allocated(device: Any = None) -> int:
    """Memory of the GPU that tensors take."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """The most memory of the GPU that tensors took."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """Memory of the GPU that is held."""
    return 0


def _refuse() -> Any:
    raise AssertionError("Torch not compiled with CUDA enabled: tautograd computes on the CPU")


def synchronize(device: Any = None) -> None:
    """Wait for the GPU."""
    _refuse()


def current_device() -> int:
    """The number of the GPU in use."""
    return int(_refuse())


def set_device(device: Any) -> None:
    """Choose a GPU."""
    _refuse()


def get_device_name(device: Any = None) -> str:
    """The name of a GPU."""
    return str(_refuse())


def get_device_properties(device: Any = None) -> Any:
    """What a GPU has."""
    _refuse()
