"""Whether tautograd has what a dotted path of PyTorch's names, found without running anything but its own modules."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType
from typing import Any

# Private by name, and used by so many that tautograd has them under PyTorch's names.
PRIVATE_AND_KNOWN = frozenset(
    (
        *("__config__", "__future__", "_C", "_custom_ops", "_dynamo", "_nn", "_pytree"),
        *("_subclasses", "_tensor_str", "_trace_wrapped_higher_order_op", "_utils"),
        "_vmap_internals",
        "torch._C._functorch",
        "torch.distributed.algorithms._checkpoint",
        "torch.distributed._composable",
        "torch.utils._foreach_utils",
        "torch.fx._symbolic_trace",
        "torch.distributed._tensor",  # only there: `torch._tensor` is another matter
    )
)


class Missing(Exception):
    """A step of a path is not there: `parent` has no `name`."""

    def __init__(self, parent: str, name: str, found: Any) -> None:
        super().__init__(f"{parent} has no {name}")
        self.parent, self.name, self.found = parent, name, found


def resolve(path: str) -> Any:
    """What a dotted path under `torch` names here; what follows a value is left alone.

    `torch.nn.Linear.forward` is looked up to its end, since a class says what it has;
    `torch.float32.itemsize` only to `torch.float32`.
    """
    first, *steps = path.split(".")
    found: Any = importlib.import_module("tautograd")
    for depth, name in enumerate(steps):
        before = ".".join((first, *steps[:depth]))
        found = _step(found, before, name)
        if not isinstance(found, (ModuleType, type)):
            break
    return found


def _step(parent: Any, path: str, name: str) -> Any:
    try:
        found = getattr(parent, name)
    except AttributeError:
        found = _submodule(parent, name)
        if found is None:
            raise Missing(path, name, parent) from None
    except ImportError:  # it wants a package that is not installed: it is here all the same
        return None
    if isinstance(found, ModuleType) and path.startswith("torch") and is_own_affair(path, name):
        raise Missing(path, name, parent)
    return found


def is_own_affair(parent: str, name: str) -> bool:
    """Whether a module is tautograd's own affair, whatever PyTorch has by its name."""
    return name.startswith("_") and PRIVATE_AND_KNOWN.isdisjoint((name, f"{parent}.{name}"))


def _submodule(parent: Any, name: str) -> ModuleType | None:
    if not isinstance(parent, ModuleType) or not hasattr(parent, "__path__"):
        return None
    full = f"{parent.__name__}.{name}"
    if importlib.util.find_spec(full) is None:
        return None
    try:
        return importlib.import_module(full)
    except ImportError:
        return ModuleType(full)  # it wants a package that is not installed


def is_here(path: str) -> bool:
    """Whether tautograd has what a path names."""
    try:
        resolve(path)
    except Missing:
        return False
    return True
