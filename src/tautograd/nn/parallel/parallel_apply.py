"""Calls replicas of a module, each with its own part of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tautograd as torch

from ..._ops.declare.python_surface import speak
from ..._tensor.tensor import Tensor

__all__ = ["get_a_var", "parallel_apply"]


def get_a_var(obj: Any) -> Tensor | None:
    """The first tensor in a nest, or None."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, dict):
        obj = tuple(obj.items())
    if isinstance(obj, (list, tuple)):
        return next((found for found in map(get_a_var, obj) if found is not None), None)
    return None


def parallel_apply(
    modules: Sequence[Any], inputs: Sequence[Any], kwargs_tup: Any = None, devices: Any = None
) -> list[Any]:
    """The result of each module on its arguments, in order.

    A GPU works while Python continues with the next, so the calls are sequential; PyTorch starts a
    thread for each.
    """
    for what, given in (("inputs", inputs), ("kwargs_tup", kwargs_tup), ("devices", devices)):
        if given is not None and len(given) != len(modules):
            raise AssertionError(
                f"The number of modules {len(modules)} is not equal to the number of {what} {len(given)}"
            )
    if not torch.accelerator.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    named = [{}] * len(modules) if kwargs_tup is None else kwargs_tup
    results = []
    for module, given, kwargs in zip(modules, inputs, named, strict=True):
        args = given if isinstance(given, (list, tuple)) else (given,)
        results.append(module(*args, **kwargs))
    return results


speak(globals(), __all__)
