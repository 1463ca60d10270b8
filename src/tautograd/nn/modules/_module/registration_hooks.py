"""Global hooks that see what is about to be registered, and may replace it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ...._autograd.hooks import RemovableHandle, add_hook

Hook = Callable[..., Any]

buffer_registration_hooks: dict[int, Hook] = OrderedDict()
module_registration_hooks: dict[int, Hook] = OrderedDict()
parameter_registration_hooks: dict[int, Hook] = OrderedDict()


def replaced_by(hooks: dict[int, Hook], module: Any, name: str, value: Any) -> Any:
    """The value to register, after the hooks."""
    for hook in hooks.values():
        found = hook(module, name, value)
        if found is not None:
            value = found
    return value


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` before any module registers a buffer."""
    return add_hook(buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` before any module registers a child."""
    return add_hook(module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, param)` before any module registers a parameter."""
    return add_hook(parameter_registration_hooks, hook)
