"""Trees of containers: flattening to leaves and a structure, mapping, unflattening.

PyTorch's name is private, but libraries use it all the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from .._ops.declare.python_surface import speak
from ._tree_nodes import (
    BY_SERIALIZED_NAME,
    LEAF,
    SUPPORTED_NODES,
    GetAttrKey,
    MappingKey,
    NodeDef,
    SequenceKey,
    TreeSpec,
    add,
    is_namedtuple_class,
    kind_of,
)

__all__ = [
    "SUPPORTED_NODES",
    "GetAttrKey",
    "LeafSpec",
    "MappingKey",
    "NodeDef",
    "PyTree",
    "PyTreeSpec",
    "SequenceKey",
    "TreeSpec",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "key_get",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
    "treespec_pprint",
]

PyTree: TypeAlias = Any
Context: TypeAlias = Any
PyTreeSpec = TreeSpec
KeyEntry: TypeAlias = Any
KeyPath: TypeAlias = tuple[Any, ...]
IsLeaf: TypeAlias = Callable[[Any], bool] | None


def LeafSpec() -> TreeSpec:
    """The shape of a leaf."""
    return LEAF


# ---- kinds of nodes ------------------------------------------------------------------------------


def register_pytree_node(
    cls: type[Any],
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Register a class as a container, with its functions to flatten and unflatten."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or "
            "registered."
        )
    add(
        NodeDef(
            cls,
            flatten_fn,
            unflatten_fn,
            flatten_with_keys_fn,
            serialized_type_name,
            to_dumpable_context,
            from_dumpable_context,
        )
    )


_register_pytree_node = register_pytree_node


def is_namedtuple(obj: Any) -> bool:
    """Whether this is a named tuple, or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: object) -> bool:
    """Whether this is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_structseq_class(cls: Any) -> bool:
    """Whether a class is one of the interpreter's own named tuples (`time.struct_time`)."""
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(
            isinstance(getattr(cls, name, None), int)
            for name in ("n_fields", "n_sequence_fields", "n_unnamed_fields")
        )
    )


def is_structseq(obj: Any) -> bool:
    """Whether this is such a tuple, or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_instance(obj: object) -> bool:
    """Whether this is such a tuple."""
    return is_structseq_class(type(obj))


# ---- flattening and unflattening -----------------------------------------------------------------


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether a tree is not a registered container, or `is_leaf` says that it is a leaf."""
    if is_leaf is not None and not callable(is_leaf):
        raise TypeError(
            f"argument 'is_leaf' must be a function or None, not {type(is_leaf).__name__}"
        )
    return bool(is_leaf is not None and is_leaf(tree)) or kind_of(tree) not in SUPPORTED_NODES


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree from left to right, and its structure."""
    leaves: list[Any] = []
    return leaves, _shape(tree, leaves, is_leaf)


def _shape(tree: Any, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return LEAF
    kind = kind_of(tree)
    parts, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_shape(part, leaves, is_leaf) for part in parts])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """A tree with this structure and these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "Expected `treespec` to be an instance of PyTreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves of a tree, one by one."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    parts, _ = SUPPORTED_NODES[kind_of(tree)].flatten_fn(tree)
    for part in parts:
        yield from tree_iter(part, is_leaf)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


# ---- mapping -------------------------------------------------------------------------------------


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """The tree with each leaf replaced by `func` of it (and of the other trees' leaves)."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(other) for other in rests)]
    return spec.unflatten([func(*row) for row in zip(*columns, strict=True)])


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Call `func` on each leaf for its side effect; returns the tree unchanged."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(other) for other in rests)]
    for row in zip(*columns, strict=True):
        func(*row)
    return tree


def _only(which: Any, func: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`func` for leaves of these types (or for which a predicate is true), the identity for others."""
    if isinstance(which, (type, tuple)) or hasattr(which, "__args__"):
        return lambda leaf: func(leaf) if isinstance(leaf, which) else leaf
    if callable(which):
        return lambda leaf: func(leaf) if which(leaf) else leaf
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def map_only(
    type_or_types_or_pred: Any, /
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator that extends a function of some leaves to all of them."""
    return lambda func: _only(type_or_types_or_pred, func)


def tree_map_only(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None
) -> Any:
    """`tree_map` for leaves of these types; the others are unchanged."""
    return tree_map(_only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None
) -> Any:
    """`tree_map_` for leaves of these types."""
    return tree_map_(_only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` holds for some leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None
) -> bool:
    """Whether `pred` holds for all leaves of these types."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None
) -> bool:
    """Whether `pred` holds for some leaf of these types."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


# ---- with the path to each leaf ------------------------------------------------------------------


def _walk(tree: Any, way: KeyPath, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield way, tree
        return
    node = SUPPORTED_NODES[kind_of(tree)]
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a "
            "flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, part in node.flatten_with_keys_fn(tree)[0]:
        yield from _walk(part, (*way, key), is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves of a tree, each with its path from the root."""
    return list(_walk(tree, (), is_leaf or None))  # PyTorch takes any false value for None here


def tree_flatten_with_path(
    tree: Any, is_leaf: IsLeaf = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves with their paths, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None
) -> Any:
    """`tree_map`, with the path to each leaf as the first argument."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    ways, leaves = [way for way, _ in found], [leaf for _, leaf in found]
    columns = [ways, leaves, *(spec.flatten_up_to(other) for other in rests)]
    return spec.unflatten([func(*row) for row in zip(*columns, strict=True)])


def keystr(kp: KeyPath) -> str:
    """A path as Python would write it: `['layers'][0].weight`."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What is at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


# ---- structures as text --------------------------------------------------------------------------

_PROTOCOL = 1


def _plain(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    node = SUPPORTED_NODES[spec.type]
    if node.serialized_type_name is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your "
            "_register_pytree_node call with a `serialized_type_name` kwarg."
        )
    if node.to_dumpable_context is not None:
        context = node.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register a "
                "custom serializer using _register_pytree_node."
            ) from error
    below = [_plain(child) for child in spec.children()]
    return {"type": node.serialized_type_name, "context": context, "children_spec": below}


def _from_plain(data: Any) -> TreeSpec:
    if data["type"] is None:
        return LEAF
    if data["type"] not in BY_SERIALIZED_NAME:
        raise NotImplementedError(f"Deserializing {data['type']} in pytree is not registered.")
    node = BY_SERIALIZED_NAME[data["type"]]
    read = node.from_dumpable_context or json.loads
    below = [_from_plain(child) for child in data["children_spec"]]
    return TreeSpec(node.type, read(data["context"]), below)


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as JSON."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "Expected `treespec` to be an instance of PyTreeSpec but got item of type "
            f"{type(treespec)}."
        )
    if protocol not in (None, _PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")
    return json.dumps([_PROTOCOL, _plain(treespec)])


def treespec_loads(serialized: str) -> TreeSpec:
    """A structure from JSON."""
    if not isinstance(serialized, (str, bytes, bytearray)):
        raise TypeError(
            f"the JSON object must be str, bytes or bytearray, not {type(serialized).__name__}"
        )
    try:
        protocol, data = json.loads(serialized)
    except json.JSONDecodeError as error:
        raise json.JSONDecodeError(error.msg, error.doc, error.pos) from None
    except (TypeError, ValueError):
        raise ValueError("treespec_loads(): a list of a protocol and a tree is wanted") from None
    if protocol != _PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")
    return _from_plain(data)


def treespec_pprint(treespec: TreeSpec) -> str:
    """A structure printed as a tree of stars."""

    class _Star:
        def __repr__(self) -> str:
            return "*"

    return repr(treespec.unflatten([_Star() for _ in range(treespec.num_leaves)]))


# How dictionaries are flattened and unflattened: libraries reuse these for their own mappings.


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
    """The values of a dictionary, and its keys."""
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """The values of a dictionary, each with its key path, and its keys."""
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _dict_unflatten(values: Iterable[Any], context: list[Any]) -> dict[Any, Any]:
    """A dictionary from its values and keys."""
    return dict(zip(context, values, strict=True))


def _get_node_type(tree: Any) -> Any:
    """The kind of a node: its type, or `namedtuple` for all of those."""
    return kind_of(tree)


speak(globals(), __all__)
