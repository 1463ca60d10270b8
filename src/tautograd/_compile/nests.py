"""Tensors inside tuples, lists and dictionaries: found in order, or each replaced by something else."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from .._tensor.tensor import Tensor


def tensors_in(value: Any) -> Any:
    """The tensors among arguments or results, in order, each once."""
    found: dict[int, Tensor] = {}
    _collect(value, found)
    return found.values()


def _collect(value: Any, found: dict[int, Tensor]) -> None:
    if isinstance(value, Tensor):
        found[id(value)] = value
    elif isinstance(value, (tuple, list)):
        for part in value:
            _collect(part, found)
    elif isinstance(value, dict):
        for part in value.values():
            _collect(part, found)


def leaves_in(value: Any) -> list[Any]:
    """Everything that is no tuple, list or dictionary, in order."""
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves_in(part)]
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves_in(part)]
    return [value]


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same nest of tuples, lists and dictionaries, with each leaf changed."""
    kind = type(value)
    if isinstance(value, (tuple, list)):
        parts = [mapped(part, change) for part in value]
        return kind(*parts) if hasattr(value, "_fields") else kind(parts)
    if kind is dict:
        return {name: mapped(part, change) for name, part in value.items()}
    if isinstance(value, dict):
        other = copy.copy(value)
        for name, part in value.items():
            other[name] = mapped(part, change)
        return other
    return change(value)


def replaced(value: Any, by: dict[int, Any]) -> Any:
    """Arguments with other things in place of some tensors."""
    return mapped(value, lambda leaf: by.get(id(leaf), leaf) if isinstance(leaf, Tensor) else leaf)
