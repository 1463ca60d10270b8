"""Places in which a computation can keep state between calls: what each held, and how to restore it.

A place is a variable that a function closes over or names, a list or dictionary, an object's or a
class's attributes, a tensor's or an array's memory, the memory of `functools.cache`. Each saves its
contents when it is made; `moved()` says whether they have changed since, `restore()` restores them. A
place that may be a cache can be emptied: the program then recomputes the value.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from .engines import densified, engine_of, is_tensor


class Place(Protocol):
    """The interface that all kinds share."""

    def moved(self) -> bool: ...

    def restore(self) -> None: ...


class Variable:
    """A cell of a closure, or a global name."""

    def __init__(self, owner: Any, name: str, label: str) -> None:
        self.owner, self.name, self.label = owner, name, label
        self.held = self.now()

    def now(self) -> Any:
        owner = self.owner
        try:
            return owner.get(self.name) if isinstance(owner, dict) else getattr(owner, self.name)
        except ValueError:  # a cell that has been emptied
            return None

    def moved(self) -> bool:
        return self.now() is not self.held

    def restore(self) -> None:
        if self.moved():
            self._put(self.held)

    def _put(self, value: Any) -> None:
        if isinstance(self.owner, dict):
            self.owner[self.name] = value
        else:
            setattr(self.owner, self.name, value)

    def may_be_a_cache(self) -> bool:
        return is_kept_value(self.held)

    def empty(self) -> None:
        """Reset to None, as before the first call."""
        self._put(None)

    def is_empty(self) -> bool:
        return self.now() is None


class Container:
    """A list, dictionary or set, or (`owned`) an object's attributes."""

    def __init__(self, held: Any, label: str = "", owned: bool = False) -> None:
        self.held, self.label, self.owned = held, label, owned
        self.before = self._items()

    def _items(self) -> list[Any]:
        return list(self.held.items()) if isinstance(self.held, dict) else list(self.held)

    def moved(self) -> bool:
        now = self._items()
        return len(now) != len(self.before) or not all(map(_identical, now, self.before))

    def restore(self) -> None:
        if not self.moved():
            return
        if isinstance(self.held, list):
            self.held[:] = self.before
        else:
            self.held.clear()
            self.held.update(self.before)

    def may_be_a_cache(self) -> bool:
        values = self.held.values() if isinstance(self.held, dict) else self.held
        return any(map(is_kept_value, values))

    def empty(self) -> None:
        self.held.clear()

    def is_empty(self) -> bool:
        return not self.held


class Attribute(Variable):
    """One attribute of an object; used only to empty it, since the object's `Container` saves it."""

    def __init__(self, attributes: dict[str, Any], name: str) -> None:
        super().__init__(attributes, name, name)


class ClassAttributes:
    """What a class holds besides its methods."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.before = self._now()

    def _now(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self.cls).items() if not k.startswith("__")}

    def moved(self) -> bool:
        now = self._now()
        return now.keys() != self.before.keys() or any(
            now[k] is not v for k, v in self.before.items()
        )

    def restore(self) -> None:
        now = self._now()
        for name in now.keys() - self.before.keys():
            delattr(self.cls, name)
        for name, value in self.before.items():
            if now.get(name) is not value:
                setattr(self.cls, name, value)


class Memo:
    """The memory of `functools.cache`: it affects no results, so it may be cleared at any time."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.size = function.cache_info().currsize

    def moved(self) -> bool:
        return bool(self.function.cache_info().currsize != self.size)

    def restore(self) -> None:
        if self.moved():
            self.function.cache_clear()

    def may_be_a_cache(self) -> bool:
        return bool(self.size)

    def empty(self) -> None:
        self.function.cache_clear()

    def is_empty(self) -> bool:
        return not self.function.cache_info().currsize


class Array:
    """The memory of a NumPy array."""

    def __init__(self, array: Any) -> None:
        self.array, self.saved = array, array.copy()

    def moved(self) -> bool:
        return bool(self.array.tobytes() != self.saved.tobytes())

    def restore(self) -> None:
        if self.moved():
            self.array[...] = self.saved


class TensorMemory:
    """A tensor's values, shape, gradient and `requires_grad`."""

    def __init__(self, tensor: Any) -> None:
        self.tensor, self.leaf = tensor, tensor.is_leaf
        self.saved, self.wanted = tensor.detach().clone(), tensor.requires_grad
        self.grad = tensor.grad if self.leaf else None
        self.version = version_of(tensor)

    def moved(self) -> bool:
        return self.version is None or version_of(self.tensor) != self.version

    def restore(self) -> None:
        tensor, saved = self.tensor, self.saved
        if is_unallocated(tensor):
            return
        now = tensor.detach()
        if tuple(now.shape) != tuple(saved.shape) or now.dtype != saved.dtype:
            tensor.data = saved.clone()
        elif not same_bits(now, saved):
            tensor.data.copy_(saved)  # through .data: saved graphs need not notice
        if self.leaf and tensor.is_leaf:
            if tensor.requires_grad != self.wanted:
                tensor.requires_grad_(self.wanted)
            if tensor.grad is not self.grad:
                tensor.grad = self.grad


def is_kept_value(value: Any) -> bool:
    """Whether it is, or contains, a number that a call can have computed."""
    if is_tensor(value):
        return not value.requires_grad and bool(value.is_floating_point() or value.is_complex())
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fc"
    if isinstance(value, (bool, int)):
        return False
    if isinstance(value, (list, tuple)):
        return any(map(is_kept_value, value))
    return isinstance(value, numbers.Number)


def is_unallocated(tensor: Any) -> bool:
    """Whether it is a lazy parameter that has not been initialised."""
    return type(tensor).__name__.startswith("Uninitialized")


def version_of(tensor: Any) -> Any:
    """A tensor's version counter, if it has one."""
    try:
        return tensor._version
    except RuntimeError:  # an inference tensor has none
        return None


def _identical(one: Any, other: Any) -> bool:
    if type(one) is tuple and type(other) is tuple and len(one) == len(other) == 2:
        return one[0] is other[0] and one[1] is other[1]
    return one is other


def same_bits(one: Any, other: Any) -> bool:
    """Whether two tensors hold the same numbers; `nan` equals `nan`, and 0 differs from -0."""
    if one.dtype != other.dtype or tuple(one.shape) != tuple(other.shape):
        return False
    engine = engine_of([one])
    one, other = _bits(engine, one), _bits(engine, other)
    return bool(engine.equal(one, other.to(one.device)))


def _bits(engine: Any, tensor: Any) -> Any:
    """A tensor's bits as integers."""
    tensor = densified(engine, tensor.detach())
    if tensor.is_complex():
        tensor = engine.view_as_real(tensor.resolve_conj())
    if not tensor.is_floating_point():
        return tensor
    return tensor.view(getattr(engine, f"int{8 * tensor.element_size()}"))


def written_names(code: Any) -> Iterator[str]:
    """The variables and attributes that a function's code assigns to; "[]" for container items."""
    import dis

    for step in dis.get_instructions(code):
        if step.opname in ("STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF"):
            yield str(step.argval)
        elif step.opname == "STORE_SUBSCR" or (
            step.opname in ("LOAD_METHOD", "LOAD_ATTR") and step.argval in _FILLING
        ):
            yield "[]"


_FILLING = frozenset(("append", "setdefault", "update", "add", "insert", "extend"))
