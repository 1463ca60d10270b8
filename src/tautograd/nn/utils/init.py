"""Creates modules whose parameters are filled later."""

from __future__ import annotations

import inspect
from typing import Any

import tautograd as torch

from ..._ops.declare.python_surface import speak
from ..modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Any:
    """A module with uninitialised parameters; the random stream is not advanced."""
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    state = torch.get_rng_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        torch.set_rng_state(state)


speak(globals(), __all__)
