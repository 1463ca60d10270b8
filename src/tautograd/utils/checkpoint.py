"""Trading time for memory: recompute a part of the forward when backward needs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._autograd.checkpoint import (
    CheckpointError,
    CheckpointFunction,
    GraphExecGroup,
    check_backward_validity,
    checkpoint,
    checkpoint_sequential,
    detach_variable,
    noop_context_fn,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)
from ._pytree import tree_leaves


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The GPUs that tensors are on, and the state of each one's random number generator."""
    from .. import cuda

    found: set[int] = set()
    for tensor in tree_leaves(args):
        device = getattr(tensor, "device", None)
        if device is not None and device.type == "cuda":
            found.add(device.index or 0)
    devices = sorted(found)
    return devices, [cuda.get_rng_state(device) for device in devices]


def set_device_states(
    devices: Sequence[int], states: Sequence[Any], *, device_type: Any = None
) -> None:
    """Restore those states."""
    from .. import cuda

    for device, state in zip(devices, states, strict=True):
        cuda.set_rng_state(state, device)


__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "GraphExecGroup",
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
