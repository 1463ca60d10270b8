"""Copies of a module on several devices, whose gradients flow back to the original."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from ..._ops.declare.python_surface import speak
from ..modules.module import Module
from .scatter_gather import _refuse_cpu, as_device

__all__ = ["replicate"]


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Any]:
    """One copy of the module per device; gradients arrive at the original."""
    _refuse_cpu("Broadcast", [*network.parameters(), *network.buffers()])
    return [_on(network, as_device(where), detach, {}) for where in devices]


def _on(module: Module, where: Any, detach: bool, made: dict[int, Any]) -> Any:
    if id(module) in made:
        return made[id(module)]
    twin: Any = copy.copy(module)
    made[id(module)] = twin
    twin.__dict__ = {**module.__dict__, "_is_replica": True}
    twin._parameters, twin._buffers = {}, dict(module._buffers)
    for name, param in module._parameters.items():
        # A plain attribute: the copy is the result of an operation, not a leaf to train.
        moved = None if param is None else param.to(where)
        twin.__dict__[name] = moved.detach() if moved is not None and detach else moved
    for name, buffer in module._buffers.items():
        twin._buffers[name] = None if buffer is None else buffer.to(where)
    twin._modules = {
        name: None if inner is None else _on(inner, where, detach, made)
        for name, inner in module._modules.items()
    }
    return twin


speak(globals(), __all__)
