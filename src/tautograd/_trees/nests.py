"""Nested tuples, lists, mappings and dataclasses: their leaves, and nests like them.

What counts as a container varies: `torch.func` looks into tuples, lists and dictionaries as PyTorch's
does, the trust kit into any mapping, a recording into a user's dataclasses too. `Nests` is parametrised
by that, and is the one traversal for all of them. A rebuilt container keeps its class, its order, and
what else it carries (a `defaultdict`'s factory, attributes), without running a constructor of the
user's.
"""

from __future__ import annotations

import copy
import dataclasses
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any


def _no_fields(value: Any) -> Sequence[str]:
    return ()


_ENGINES = __name__.partition(".")[0], "torch"
_ATOMS = frozenset((int, float, complex, bool, str, bytes, type(None), type(...), slice))


def fields_of_dataclass(value: Any) -> Sequence[str]:
    """The field names of an object of a user's dataclass; empty for any other object."""
    kind = type(value)
    if not hasattr(kind, "__dataclass_fields__") or hasattr(kind, "requires_grad"):
        return ()
    if kind.__module__.partition(".")[0] in _ENGINES or hasattr(value, "_parameters"):
        return ()  # an engine's metadata, a module
    return [field.name for field in dataclasses.fields(value) if hasattr(value, field.name)]


class Nests:
    """A traversal of nests whose containers are tuples, lists, the given mappings, and objects with the
    given fields.

    Objects of the classes in `atoms` are never containers, and are not examined any further.
    """

    def __init__(
        self,
        mappings: type = dict,
        fields: Callable[[Any], Sequence[str]] = _no_fields,
        atoms: Iterable[type] = (),
    ) -> None:
        self.mappings = mappings
        self.fields_of = fields
        self.atoms = _ATOMS.union(atoms)

    # --- one container -------------------------------------------------------------------------

    def is_container(self, value: Any) -> bool:
        """Whether a value is one of the containers that are traversed."""
        if type(value) in self.atoms:
            return False
        return isinstance(value, (tuple, list, self.mappings)) or bool(self.fields_of(value))

    def parts(self, value: Any) -> Sequence[tuple[Any, Any]]:
        """The contents of a container, with the index, key or name of each."""
        if isinstance(value, (tuple, list)):
            return list(enumerate(value))
        if isinstance(value, self.mappings):
            return list(value.items())  # type: ignore[attr-defined]
        return [(name, getattr(value, name)) for name in self.fields_of(value)]

    def with_parts(self, value: Any, parts: list[Any]) -> Any:
        """A container of the same kind with other contents."""
        kind = type(value)
        if kind is list or kind is tuple:
            return kind(parts)
        if kind is dict:
            return dict(zip(value, parts, strict=True))
        if isinstance(value, tuple):
            return _tuple_like(value, parts)
        if isinstance(value, Mapping) and not isinstance(value, dict):
            return _mapping_like(value, dict(zip(value, parts, strict=True)))
        other = copy.copy(value)
        if isinstance(value, list):
            other[:] = parts
        elif isinstance(value, dict):
            for key, part in zip(value, parts, strict=True):
                other[key] = part
        else:
            for name, part in zip(self.fields_of(value), parts, strict=True):
                object.__setattr__(other, name, part)  # works for a class that forbids it, too
        return other

    # --- all of a nest -------------------------------------------------------------------------

    def leaves(self, value: Any) -> list[Any]:
        """Everything that is not a container, in order."""
        found: list[Any] = []
        self._collect(value, found)
        return found

    def _collect(self, value: Any, found: list[Any]) -> None:
        values: Iterable[Any]
        if type(value) in self.atoms:
            found.append(value)
            return
        if isinstance(value, (tuple, list)):
            values = value
        elif isinstance(value, self.mappings):
            values = value.values()  # type: ignore[attr-defined]
        elif names := self.fields_of(value):
            values = [getattr(value, name) for name in names]
        else:
            found.append(value)
            return
        for part in values:
            self._collect(part, found)

    def mapped(self, value: Any, change: Callable[..., Any], *others: Any) -> Any:
        """The same nest with each leaf (and its counterparts in the others) mapped."""
        if not self.is_container(value):
            return change(value, *others)
        parts = [
            self.mapped(part, change, *(other[step] for other in others))
            for step, part in self.parts(value)
        ]
        return self.with_parts(value, parts)

    def filled(self, value: Any, leaves: Iterable[Any]) -> Any:
        """A nest like this one with other leaves, in order."""
        rest = iter(leaves)
        return self.mapped(value, lambda _: next(rest))

    # --- by name -------------------------------------------------------------------------------

    def named_leaves(self, value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
        """Every leaf with its name: `x`, `x[0]`, `x['mask']`."""
        if not self.is_container(value):
            yield name, value
            return
        for step, part in self.parts(value):
            yield from self.named_leaves(part, f"{name}[{step!r}]" if name else str(step))

    def mapped_by_name(self, value: Any, change: Callable[[str, Any], Any], name: str = "") -> Any:
        """The same nest with every leaf replaced by `change(name, leaf)`."""
        changed = [change(at, leaf) for at, leaf in self.named_leaves(value, name)]
        return self.filled(value, changed)

    # --- by identity ---------------------------------------------------------------------------

    def containers(
        self, value: Any, path: tuple[Any, ...] = ()
    ) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """The containers of a nest, and the path to each: indices, keys and names."""
        if not self.is_container(value):
            return
        yield path, value
        for step, part in self.parts(value):
            yield from self.containers(part, (*path, step))

    def alike(self, value: Any, change: Callable[[Any], Any], known: dict[int, Any]) -> Any:
        """A nest with each leaf mapped, with containers memoised by id: a container that occurs
        twice is mapped to the same one twice."""
        if id(value) in known:
            return known[id(value)]
        if not self.is_container(value):
            return change(value)
        parts = [self.alike(part, change, known) for _, part in self.parts(value)]
        found = known[id(value)] = self.with_parts(value, parts)
        return found

    def changed_within(
        self, value: Any, change: Callable[[Any], Any], known: dict[int, Any]
    ) -> Any:
        """Map each leaf of a nest in place; `known` maps the id of a container to its
        replacement."""
        if not self.is_container(value):
            return change(value)
        if id(value) in known:
            return known[id(value)]
        known[id(value)] = value
        parts = self.parts(value)
        found = [self.changed_within(part, change, known) for _, part in parts]
        if all(new is old for new, (_, old) in zip(found, parts, strict=True)):
            return value
        if isinstance(value, tuple):
            known[id(value)] = self.with_parts(value, found)
            return known[id(value)]
        for (step, _), part in zip(parts, found, strict=True):
            if isinstance(value, (list, dict)):
                value[step] = part
            else:
                object.__setattr__(value, step, part)
        return value


def at_path(value: Any, path: tuple[Any, ...]) -> Any:
    """The value at a path of indices, keys and names."""
    for step in path:
        value = value[step] if isinstance(value, (tuple, list, Mapping)) else getattr(value, step)
    return value


def _tuple_like(value: Any, parts: list[Any]) -> Any:
    """A tuple of the same class: a named tuple, `torch.Size`, or the result of `torch.max`."""
    kind: Any = type(value)
    if not isinstance(kind.__new__, types.FunctionType) and kind.__new__ is not tuple.__new__:
        return kind(parts)  # a C type: only it can construct one
    made = tuple.__new__(kind, parts)
    if attributes := getattr(value, "__dict__", None):
        made.__dict__.update(attributes)
    return made


def _mapping_like(value: Any, parts: dict[Any, Any]) -> Any:
    """A mapping other than a dictionary, if its class can be constructed from one; else a dictionary."""
    try:
        return type(value)(parts)
    except TypeError:
        return parts


TUPLES_LISTS_DICTS = Nests()
"""As PyTorch's own functions on nests traverse them."""
ANY_MAPPING = Nests(Mapping)
"""As the trust kit traverses them: a mapping of any class holds inputs."""
WITH_DATACLASSES = Nests(Mapping, fields_of_dataclass)
"""As `verify` traverses them: a model's inputs and outputs may also be objects of the user's."""
