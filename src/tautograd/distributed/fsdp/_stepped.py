"""Flattened parameters that an optimizer has stepped on since they were gathered: those have to be gathered anew.

Every rank's optimizer has the same parameters, also those of which the rank holds nothing, so all ranks agree. The
version of a shard would not tell: an optimizer leaves an empty one alone.
"""

from __future__ import annotations

import weakref
from typing import Any

from ...optim.optimizer import register_optimizer_step_post_hook

_HANDLES: weakref.WeakSet[Any] = weakref.WeakSet()
_HOOKS: list[Any] = []  # of optimizers, from the first handle on


def watch(handle: Any) -> None:
    """Set `is_outdated` of a handle when an optimizer has stepped on one of its parameters."""
    if not _HOOKS:
        _HOOKS.append(register_optimizer_step_post_hook(_stepped))
    _HANDLES.add(handle)


def _stepped(optimizer: Any, args: Any, kwargs: Any) -> None:
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    for handle in _HANDLES:
        if any(id(one.parameter) in held for one in handle.visible):
            handle.is_outdated = True
