"""What is inside tuples, lists, dictionaries and dataclasses: found in order, or replaced by something else."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from ..._tensor.tensor import Tensor

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
    if isinstance(value, (tuple, list)):
        return _with_parts(value, [mapped(part, change) for part in value])
    if isinstance(value, dict):
        return _with_parts(value, [mapped(part, change) for part in value.values()])
    if names := fields_of(value):
        return _with_parts(value, [mapped(getattr(value, name), change) for name in names])
    return change(value)


def _with_parts(value: Any, parts: list[Any]) -> Any:
    """A container of the same kind with other things in it."""
    kind = type(value)
    if isinstance(value, (tuple, list)):
        return kind(*parts) if hasattr(value, "_fields") else kind(parts)
    if kind is dict:
        return dict(zip(value, parts, strict=True))
    other = copy.copy(value)
    if isinstance(value, dict):
        for name, part in zip(value, parts, strict=True):
            other[name] = part
        return other
    for name, part in zip(fields_of(value), parts, strict=True):
        object.__setattr__(other, name, part)  # also of a class that forbids it
    return other


def alike(value: Any, change: Callable[[Any], Any], known: dict[int, Any]) -> Any:
    """The same, with containers that are known by their id; one that is met twice becomes the same one twice."""
    if id(value) in known:
        return known[id(value)]
    if not is_container(value):
        return change(value)
    parts = [alike(part, change, known) for _, part in parts_of(value)]
    found = known[id(value)] = _with_parts(value, parts)
    return found


def is_container(value: Any) -> bool:
    """Whether a value is one of those that are looked into."""
    return isinstance(value, (tuple, list, dict)) or bool(fields_of(value))


def containers_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The containers of a nest, and how to come to each: by indices, keys and names."""
    if not is_container(value):
        return
    yield path, value
    for step, part in parts_of(value):
        yield from containers_in(part, (*path, step))


def parts_of(value: Any) -> list[tuple[Any, Any]]:
    """What a container holds, with the index, key or name of each."""
    if isinstance(value, (tuple, list)):
        return list(enumerate(value))
    if isinstance(value, dict):
        return list(value.items())
    return [(name, getattr(value, name)) for name in fields_of(value)]


def at_path(value: Any, path: tuple[Any, ...]) -> Any:
    """What a path leads to."""
    for step in path:
        value = value[step] if isinstance(value, (tuple, list, dict)) else getattr(value, step)
    return value


def changed_within(value: Any, change: Callable[[Any], Any], known: dict[int, Any]) -> Any:
    """A nest with each leaf changed in its place; `known` says by id what comes in place of a container."""
    if not is_container(value):
        return change(value)
    if id(value) in known:
        return known[id(value)]
    known[id(value)] = value
    parts = parts_of(value)
    found = [changed_within(part, change, known) for _, part in parts]
    if all(a is b for a, (_, b) in zip(found, parts, strict=True)):
        return value
    if isinstance(value, tuple):
        known[id(value)] = _with_parts(value, found)
        return known[id(value)]
    for (step, _), part in zip(parts, found, strict=True):
        if isinstance(value, (list, dict)):
            value[step] = part
        else:
            object.__setattr__(value, step, part)
    return value


def replaced(value: Any, by: dict[int, Any]) -> Any:
    """Arguments with other things in place of some tensors."""
    return mapped(value, lambda leaf: by.get(id(leaf), leaf) if isinstance(leaf, Tensor) else leaf)
