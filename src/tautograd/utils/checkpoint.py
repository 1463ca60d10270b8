"""Trading time for memory: recompute a part of the forward when backward needs it."""

from typing import Any

from .._autograd.checkpoint import (
    CheckpointError,
    CheckpointFunction,
    check_backward_validity,
    checkpoint,
    checkpoint_sequential,
    detach_variable,
    noop_context_fn,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)
from .._tensor.tensor import Tensor


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The GPUs that tensors among the arguments are on, and the state of each one's generator."""
    from ..cuda.random import get_rng_state

    devices = sorted({a.get_device() for a in args if isinstance(a, Tensor) and a.is_cuda})
    return devices, [get_rng_state(device) for device in devices]


def set_device_states(devices: list[int], states: list[Any], *, device_type: Any = None) -> None:
    """Give the generators of GPUs the states that they had."""
    from ..cuda.random import set_rng_state

    for device, state in zip(devices, states, strict=True):
        set_rng_state(state, device)


__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]
