"""Tensors inside nested tuples, lists and dictionaries: found, named, and put back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .engines import is_tensor


def leaves_of(tree: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that is no container, with its name: `x`, `x[0]`, `x['mask']`."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from leaves_of(value, f"{name}[{key!r}]" if name else str(key))
    elif isinstance(tree, (list, tuple)):
        for i, value in enumerate(tree):
            yield from leaves_of(value, f"{name}[{i}]" if name else str(i))
    else:
        yield name, tree


def tensors_of(tree: Any, name: str = "") -> dict[str, Any]:
    """The tensors of a tree by name."""
    return {key: value for key, value in leaves_of(tree, name) if is_tensor(value)}


def mapped(tree: Any, change: Callable[[str, Any], Any], name: str = "") -> Any:
    """The same tree with every value that is no container replaced by `change(name, value)`."""
    if isinstance(tree, Mapping):
        changed = {
            key: mapped(value, change, f"{name}[{key!r}]" if name else str(key))
            for key, value in tree.items()
        }
        return changed if type(tree) is dict else _rebuilt(tree, changed)
    if isinstance(tree, (list, tuple)):
        parts = [
            mapped(value, change, f"{name}[{i}]" if name else str(i))
            for i, value in enumerate(tree)
        ]
        if isinstance(tree, tuple) and hasattr(tree, "_fields"):
            return type(tree)(*parts)
        return type(tree)(parts) if type(tree) in (list, tuple) else _rebuilt(tree, parts)
    return change(name, tree)


def _rebuilt(tree: Any, parts: Any) -> Any:
    """A container of a class of the user's own, where it can be made from its parts."""
    try:
        return type(tree)(parts)
    except Exception:
        return dict(parts) if isinstance(parts, dict) else tuple(parts)
