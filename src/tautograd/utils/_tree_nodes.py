"""Kinds of tree nodes, how each is flattened and unflattened, and tree structures.

A structure (`TreeSpec`) is a tree without its leaves: trees of the same structure can be traversed together.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .._ops.declare.return_types import RETURN_TYPES
from .._tensor.tensor import Size

# ---- where a leaf is -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SequenceKey:
    """A position in a sequence: `[2]`."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The item at this position."""
        return sequence[self.idx]


@dataclass(frozen=True, slots=True)
class MappingKey:
    """A key of a mapping: `['name']`."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The value of this key."""
        return mapping[self.key]


@dataclass(frozen=True, slots=True)
class GetAttrKey:
    """An attribute: `.name`."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The value of this attribute."""
        return getattr(obj, self.name)


# ---- kinds ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NodeDef:
    """How one kind of container is flattened and unflattened."""

    type: Any
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None
    serialized_type_name: str | None = None
    to_dumpable_context: Callable[[Any], Any] | None = None
    from_dumpable_context: Callable[[Any], Any] | None = None


SUPPORTED_NODES: dict[Any, NodeDef] = {}
BY_SERIALIZED_NAME: dict[str, NodeDef] = {}


def add(node: NodeDef) -> None:
    """Register a kind."""
    SUPPORTED_NODES[node.type] = node
    if node.serialized_type_name is not None:
        BY_SERIALIZED_NAME[node.serialized_type_name] = node


def is_namedtuple_class(cls: Any) -> bool:
    """Whether a class was made by `namedtuple`, or derives from one that was."""
    fields = getattr(cls, "_fields", None)
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(fields, tuple)
        and all(type(field) is str for field in fields)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def kind_of(value: Any) -> Any:
    """The kind of a node: its type, or `namedtuple` for all of those."""
    kind = type(value)
    if kind not in SUPPORTED_NODES and is_namedtuple_class(kind):
        return namedtuple
    return kind


def _numbered(values: Iterable[Any]) -> list[tuple[Any, Any]]:
    return [(SequenceKey(i), value) for i, value in enumerate(values)]


def _keyed(mapping: Any) -> list[tuple[Any, Any]]:
    return [(MappingKey(key), value) for key, value in mapping.items()]


def _fields(value: Any) -> list[tuple[Any, Any]]:
    return [(GetAttrKey(name), getattr(value, name)) for name in value._fields]


def _filled(factory: Any, keys: Any, values: Iterable[Any]) -> Any:
    return defaultdict(factory, zip(keys, values, strict=True))


def _sequence(kind: Any, make: Callable[[Iterable[Any]], Any], name: str | None = None) -> NodeDef:
    """A kind of sequence defined by its items alone."""
    return NodeDef(
        kind,
        lambda t: (list(t), None),
        lambda values, _: make(values),
        lambda t: (_numbered(t), None),
        name,
    )


def _mapping(kind: Any, name: str) -> NodeDef:
    """A kind of mapping defined by its keys alone."""
    return NodeDef(
        kind,
        lambda d: (list(d.values()), list(d)),
        lambda values, keys: kind(zip(keys, values, strict=True)),
        lambda d: (_keyed(d), list(d)),
        name,
    )


def _made_of_tuple(kind: Any) -> Callable[[Iterable[Any]], Any]:
    return lambda values: kind(tuple(values))


# Named results (`torch.return_types.max`) and sizes: tuples with their own class.
for _named in RETURN_TYPES.values():
    for _kind in (_named, getattr(_named, "out_type", None)):
        if _kind is not None:
            add(_sequence(_kind, _made_of_tuple(_kind)))
for _node in (
    _sequence(Size, tuple),  # after unflattening its items may be anything
    _sequence(tuple, tuple, "builtins.tuple"),
    _sequence(list, list, "builtins.list"),
    _mapping(dict, "builtins.dict"),
    NodeDef(
        namedtuple,
        lambda t: (list(t), type(t)),
        lambda values, cls: cls(*values),
        lambda t: (_fields(t), type(t)),
        "collections.namedtuple",
    ),
    _mapping(OrderedDict, "collections.OrderedDict"),
    NodeDef(
        defaultdict,
        lambda d: (list(d.values()), [d.default_factory, list(d)]),
        lambda values, context: _filled(context[0], context[1], values),
        lambda d: (_keyed(d), [d.default_factory, list(d)]),
        "collections.defaultdict",
    ),
    NodeDef(
        deque,
        lambda d: (list(d), d.maxlen),
        lambda values, maxlen: deque(values, maxlen=maxlen),
        lambda d: (_numbered(d), d.maxlen),
        "collections.deque",
    ),
):
    add(_node)

_DICTS = (dict, OrderedDict, defaultdict)
_BUILT_IN = (tuple, list, namedtuple, deque, *_DICTS)


# ---- shapes --------------------------------------------------------------------------------------


class TreeSpec:
    """The structure of a tree: each node's kind, its kind's context, and the structures below."""

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]) -> None:
        if type is None and context is not None:
            raise AssertionError("leaf node should not have a context")
        if type is None and len(children_specs):
            raise AssertionError("leaf node should not have children")
        self.type = type
        self._context = context
        self._children = children_specs
        self.num_nodes: int = 1 + sum(child.num_nodes for child in children_specs)
        self.num_leaves: int = sum(child.num_leaves for child in children_specs) + (type is None)
        self.num_children = len(children_specs)

    def __repr__(self) -> str:
        return self._text(0)

    def _text(self, indent: int) -> str:
        if self.type is None:
            return "*"
        gap = ",\n" + " " * (indent + 2)
        below = gap.join(child._text(indent + 2) for child in self._children)
        return f"TreeSpec({self.type.__name__}, {self._context}, [{below}])"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return self is other or (
            str(self.type) == str(other.type)
            and self._context == other._context
            and self._children == other._children
        )

    def __hash__(self) -> int:
        context = self._context
        if self.type in _DICTS:
            context = tuple(context[1] if self.type is defaultdict else context)
        return hash((self.type, context, tuple(self._children)))

    @property
    def context(self) -> Any:
        """What the kind needs besides the children: the keys of a dict."""
        return self._context

    def is_leaf(self) -> bool:
        """Whether this is the structure of a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The structures below."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """One structure below."""
        return self._children[index]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """A tree of this structure."""
        values = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(values) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(values)} but the spec refers "
                f"to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self._rebuilt(iter(values))

    def _rebuilt(self, values: Any) -> Any:
        if self.type is None:
            return next(values)
        parts = [child._rebuilt(values) for child in self._children]
        return SUPPORTED_NODES[self.type].unflatten_fn(parts, self._context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The subtrees of a tree at the leaves of this structure."""
        if self.type is None:
            return [tree]
        parts = self._parts_of(tree)
        return [
            found
            for child, part in zip(self._children, parts, strict=True)
            for found in child.flatten_up_to(part)
        ]

    def _parts_of(self, tree: Any) -> list[Any]:
        """The children of a node of this kind, in this order; raises if it is of another kind."""
        kind = kind_of(tree)
        both_dicts = self.type in _DICTS and kind in _DICTS
        if kind != self.type and not both_dicts:
            what = "Node type mismatch" if self.type in _BUILT_IN else "Type mismatch"
            raise ValueError(f"{what}; expected {self.type!r}, but got {kind!r}.")
        if both_dicts:
            _check_count(self.num_children, len(tree))
            keys = self._context[1] if self.type is defaultdict else self._context
            _check_keys(keys, tree)
            return [tree[key] for key in keys]
        parts, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        _check_count(self.num_children, len(parts))
        if context != self._context and kind is not deque:
            if self.type in _BUILT_IN:
                raise ValueError(
                    f"Node context mismatch for node type {self.type!r}; expected {self._context!r}, "
                    f"but got {context!r}."
                )
            raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        return list(parts)


def _check_count(expected: int, found: int) -> None:
    if expected != found:
        raise ValueError(f"Node arity mismatch; expected {expected}, but got {found}.")


def _check_keys(keys: Any, tree: Any) -> None:
    missing, extra = set(keys) - set(tree), set(tree) - set(keys)
    if missing or extra:
        said = f"; missing key(s): {missing}" if missing else ""
        said += f"; extra key(s): {extra}" if extra else ""
        raise ValueError(f"Node keys mismatch{said}.")


LEAF = TreeSpec(None, None, [])
