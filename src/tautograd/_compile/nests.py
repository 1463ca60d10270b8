"""What is inside tuples, lists, dictionaries and dataclasses: found in order, or replaced by something else."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from .._tensor.tensor import Tensor

_OWN = __name__.partition(".")[0]


def fields_of(value: Any) -> list[str]:
    """The names of what an object of a user's dataclass holds; none of any other object."""
    kind = type(value)
    if not hasattr(kind, "__dataclass_fields__") or isinstance(value, Tensor):
        return []
    if kind.__module__.partition(".")[0] == _OWN or hasattr(value, "_parameters"):
        return []  # a description of this package's, a module
    return [field.name for field in dataclasses.fields(value) if hasattr(value, field.name)]


def tensors_in(value: Any) -> Any:
    """The tensors among arguments or results, in order, each once."""
    return {id(leaf): leaf for leaf in leaves_in(value) if isinstance(leaf, Tensor)}.values()


def leaves_in(value: Any) -> Iterator[Any]:
    """Everything that is no tuple, list, dictionary or dataclass, in order."""
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from leaves_in(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from leaves_in(part)
    elif names := fields_of(value):
        for name in names:
            yield from leaves_in(getattr(value, name))
    else:
        yield value


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same nest of tuples, lists, dictionaries and dataclasses, with each leaf changed."""
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
    if names := fields_of(value):
        other = copy.copy(value)
        for name in names:  # also of a class that forbids it
            object.__setattr__(other, name, mapped(getattr(value, name), change))
        return other
    return change(value)


def replaced(value: Any, by: dict[int, Any]) -> Any:
    """Arguments with other things in place of some tensors."""
    return mapped(value, lambda leaf: by.get(id(leaf), leaf) if isinstance(leaf, Tensor) else leaf)
