"""Flattening arguments by a known structure: what a traced function with nested inputs does first."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from ..utils import _pytree as pytree
from ..utils._pytree import TreeSpec

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

FlattenFuncSpec = Callable[[Any, TreeSpec], list[Any]]
SUPPORTED_NODES: dict[Any, FlattenFuncSpec] = {}


def register_pytree_flatten_spec(
    cls: Any, flatten_fn_spec: FlattenFuncSpec, flatten_fn_exact_match_spec: Any = None
) -> None:
    """Register how the children of a container are found that has at least those of a structure."""
    SUPPORTED_NODES[cls] = flatten_fn_spec


def tree_flatten_spec(tree: Any, spec: TreeSpec) -> list[Any]:
    """The leaves of a tree, as a structure has them."""
    if spec.is_leaf():
        return [tree]
    if spec.type not in SUPPORTED_NODES:
        leaves, found = pytree.tree_flatten(tree)
        if found != spec:
            raise RuntimeError(
                f"Real spec {found} of object {tree} is different from expected spec {spec}."
            )
        return leaves
    children = SUPPORTED_NODES[spec.type](tree, spec)
    pairs = zip(children, spec.children(), strict=False)
    return [leaf for child, below in pairs for leaf in tree_flatten_spec(child, below)]


def _items(tree: Any, spec: TreeSpec) -> list[Any]:
    return [tree[i] for i in range(spec.num_children)]


def _fields(tree: Any, spec: TreeSpec) -> list[Any]:
    return [getattr(tree, name) for name in spec.context._fields]


register_pytree_flatten_spec(dict, lambda tree, spec: [tree[key] for key in spec.context])
register_pytree_flatten_spec(list, _items)
register_pytree_flatten_spec(tuple, _items)
register_pytree_flatten_spec(namedtuple, _fields)
