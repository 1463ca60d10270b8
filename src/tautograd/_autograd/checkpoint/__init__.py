"""Checkpointing: keep the inputs of a part of the forward, and run it again when backward comes."""

from .calls import (
    checkpoint,
    checkpoint_sequential,
    noop_context_fn,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)
from .reentrant import CheckpointFunction, check_backward_validity, detach_variable
from .region import CheckpointError, GraphExecGroup

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "GraphExecGroup",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]
