"""A second module with the names of another, kept in sync with it except for its own names.

Under `--as-torch`, `torch` is tautograd with PyTorch's version. Programs access attributes of `torch`
constantly, so nothing may add indirection: both modules have a full dictionary, and what is set in
one is set in the other.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

_twins: dict[int, ModuleType] = {}


class _Twin(ModuleType):
    """A module that mirrors assignments and deletions to its twin; dunder names stay its own."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        other = _twins.get(id(self))
        if other is not None and not name.startswith("__"):
            other.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        other = _twins.get(id(self))
        if other is not None and not name.startswith("__"):
            other.__dict__.pop(name, None)


def twin_of(module: ModuleType, **own: Any) -> ModuleType:
    """The twin of a module, created lazily; `own` are the names that differ."""
    if id(module) in _twins:
        return _twins[id(module)]
    twin = _Twin(module.__name__, module.__doc__)
    twin.__dict__.update(module.__dict__, **own)
    module.__class__ = _Twin
    _twins[id(module)], _twins[id(twin)] = twin, module
    return twin
