"""What is inside tuples, lists and dictionaries: found in order, or each replaced by something else."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from .._tensor.tensor import Tensor


def tensors_in(value: Any) -> Any:
    """The tensors among arguments or results, in order, each once."""
    return {id(leaf): leaf for leaf in leaves_in(value) if isinstance(leaf, Tensor)}.values()


def leaves_in(value: Any) -> Iterator[Any]:
    """Everything that is no tuple, list or dictionary, in order."""
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from leaves_in(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from leaves_in(part)
    else:
        yield value


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
