"""Nested arguments: tuples, lists and dictionaries of tensors, taken apart and put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def leaves(tree: Any) -> list[Any]:
    """The values in a nest of tuples, lists and dicts, in order."""
    if isinstance(tree, dict):
        return [leaf for value in tree.values() for leaf in leaves(value)]
    if isinstance(tree, (list, tuple)):
        return [leaf for value in tree for leaf in leaves(value)]
    return [tree]


def map_tree(fn: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """The same nest with `fn` applied to each value (and those at the same place in the others)."""
    if isinstance(tree, dict):
        return type(tree)((k, map_tree(fn, v, *(o[k] for o in others))) for k, v in tree.items())
    if isinstance(tree, (list, tuple)):
        parts = [map_tree(fn, v, *(o[i] for o in others)) for i, v in enumerate(tree)]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return fn(tree, *others)


def rebuild(tree: Any, values: list[Any]) -> Any:
    """A nest like `tree` with these values in it."""
    rest = iter(values)
    return map_tree(lambda _: next(rest), tree)
