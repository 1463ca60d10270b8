"""A tensor's attributes: the engine's own, and those that a program sets.

Both use Python's ordinary attribute lookup, with the engine's rare ones in the tensor's dictionary, so that a
plain tensor pays nothing. A program sees only its own: `tensor.__dict__` shows none of the engine's names. A
user's subclass may use any name for itself, even `_data` or `_view`: from the first use on, what a
name means depends on whose code asks.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from .._user_code.owners import internal

SLOTS = ("_base", "_data", "_grad", "_node", "_output_nr", "_requires_grad", "_version_box")
RARE = frozenset(
    (
        *("_view", "_grad_dtype", "_seen_version", "_became_view", "_view_creation", "_watched"),
        *("_hooks", "_post_hooks", "_accumulator", "_retains_grad", "_tangents", "_is_inference"),
        *("_name", "_pinned", "_of_transform", "is_leaf_edge", "_is_shared", "_storage"),
        *("_is_wrapped_number", "_tangent_for_repr"),
    )
)
"""What the engine keeps in individual tensors' dictionaries."""
FREE = RARE | (frozenset(SLOTS) - {"_base", "_grad"})  # these two are PyTorch's names as well
_PROGRAMS = "of the program: "  # prefix for a program's value under one of the engine's names


class Attributed:
    """An object whose dictionary holds the engine's attributes as well as the program's."""

    __slots__ = ("__dict__", "__weakref__")


state_of: Any = vars(Attributed)["__dict__"].__get__
"""A tensor's actual dictionary."""


def programs(tensor: Any) -> dict[str, Any]:
    """What the program has set on a tensor, by name; changes to it change the tensor."""
    state: dict[str, Any] = state_of(tensor)
    if RARE.isdisjoint(state) and not has_names_of_its_own(type(tensor)):
        return state
    return _Shown(state, type(tensor))


def set_programs(tensor: Any, attributes: Mapping[str, Any]) -> None:
    """Replace the program's attributes of a tensor by these."""
    if not isinstance(attributes, dict):
        kind = type(attributes).__name__
        raise TypeError(f"__dict__ must be set to a dictionary, not a '{kind}'")
    found = dict(attributes)
    shown = _Shown(state_of(tensor), type(tensor))
    shown.clear()
    shown.update(found)


class _Shown(dict[str, Any]):
    """The program's part of a tensor's dictionary."""

    def __init__(self, state: dict[str, Any], cls: type) -> None:
        self._state, self._cls = state, cls
        names = (name for name in state if name not in RARE)
        super().__init__((name.removeprefix(_PROGRAMS), state[name]) for name in names)

    def __setitem__(self, name: str, value: Any) -> None:
        if name in FREE and not _is_taken(self._cls, name):
            _take(self._cls, name)
        self._state[_kept_as(name)] = value
        super().__setitem__(name, value)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self._state.pop(_kept_as(name), None)

    def update(self, *others: Any, **named: Any) -> None:
        for name, value in dict(*others, **named).items():
            self[name] = value

    def __ior__(self, other: Any) -> Any:  # type: ignore[misc]
        self.update(other)
        return self

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:
        value = super().pop(name, *default)
        self._state.pop(_kept_as(name), None)
        return value

    def popitem(self) -> tuple[str, Any]:
        name, value = super().popitem()
        self._state.pop(_kept_as(name), None)
        return name, value

    def clear(self) -> None:
        for name in list(self):
            del self[name]


def _kept_as(name: str) -> str:
    return _PROGRAMS + name if name in FREE else name


# ---- the engine's names that a subclass uses for itself --------------------------------------------


class _Taken:
    """A name that means one thing to the engine and another to the program."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, tensor: Any, kind: Any = None) -> Any:
        if internal[sys._getframe(1).f_code.co_filename]:
            return engines(tensor, self._name)
        owner = kind if tensor is None else tensor
        try:
            return getattr(owner, _PROGRAMS + self._name)
        except AttributeError:
            shown = kind.__name__ if tensor is None else type(tensor).__name__
            raise AttributeError(f"'{shown}' object has no attribute '{self._name}'") from None

    def __set__(self, tensor: Any, value: Any) -> None:
        if internal[sys._getframe(1).f_code.co_filename]:
            set_engines(tensor, self._name, value)
        else:
            setattr(tensor, _PROGRAMS + self._name, value)

    def __delete__(self, tensor: Any) -> None:
        try:
            delattr(tensor, _PROGRAMS + self._name)
        except AttributeError:
            raise AttributeError(self._name) from None


def engines(tensor: Any, name: str) -> Any:
    """An attribute of the engine's, whatever the tensor's class defines."""
    if name in RARE and tensor is not None and name in (state := state_of(tensor)):
        return state[name]
    members = _members()
    if name not in members:
        raise AttributeError(name)
    found = members[name]
    return found.__get__(tensor) if hasattr(found, "__get__") and tensor is not None else found


def set_engines(tensor: Any, name: str, value: Any) -> None:
    """Set an attribute of the engine's."""
    if name in RARE:
        state_of(tensor)[name] = value
    else:
        _members()[name].__set__(tensor, value)


def _members() -> Mapping[str, Any]:
    from .tensor import Tensor

    return vars(Tensor)


def give_names(cls: Any) -> None:
    """Let a user's class use any name for itself."""
    for name in FREE.intersection(vars(cls)):
        _take(cls, name)
    given = vars(cls).get("__setattr__")
    if given is None and has_names_of_its_own(cls):
        return  # a base class does this already

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if name in FREE:
            if internal[sys._getframe(1).f_code.co_filename]:
                set_engines(self, name, value)
                return
            if not _is_taken(type(self), name):
                _take(cls, name)
            if given is None:
                object.__setattr__(self, _PROGRAMS + name, value)
                return
        if given is None:
            super(cls, self).__setattr__(name, value)
        else:
            given(self, name, value)

    cls.__setattr__ = __setattr__


def has_names_of_its_own(cls: Any) -> bool:
    """Whether a tensor class is a user's: it checks what is set."""
    return cls.__setattr__ is not object.__setattr__


def _is_taken(cls: type, name: str) -> bool:
    return any(type(vars(base).get(name)) is _Taken for base in cls.__mro__)


def _take(cls: Any, name: str) -> None:
    if name in vars(cls):
        setattr(cls, _PROGRAMS + name, vars(cls)[name])
    setattr(cls, name, _Taken(name))
