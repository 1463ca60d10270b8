"""Restores, bit for bit, everything that trying a computation can change.

That is: the values, gradients, modes and attributes of the modules it holds, tensors and variables it
closes over, and the random streams. A computation holds what it is (a module, a bound method's object,
a partial's arguments), what its closure, its defaults and its attributes hold, the globals its code
names, and what the user's classes among these hold.
"""

from __future__ import annotations

import functools
import random
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from .engines import is_module, is_tensor
from .places import (
    Array,
    ClassAttributes,
    Container,
    Memo,
    Place,
    TensorMemory,
    Variable,
    is_unallocated,
)

_CONTAINERS = list, dict, set
_MEMO = functools._lru_cache_wrapper


class Untouched:
    """Saves a computation's state; `restore()` restores it as often as needed."""

    def __init__(self, engine: Any, *subjects: Any) -> None:
        self.engine = engine
        self.places: list[Place] = []
        self._seen: dict[int, Any] = {}
        for subject in subjects:
            self._remember(subject)
        self.streams = streams(engine)
        self._modes = engine.is_grad_enabled()

    def __enter__(self) -> Untouched:
        return self

    def __exit__(self, *_: object) -> None:
        self.restore()

    def restore(self) -> None:
        """Restore everything."""
        for place in self.places:
            place.restore()
        set_streams(self.engine, self.streams)
        self.engine.set_grad_enabled(self._modes)

    def _remember(self, value: Any, depth: int = 0, label: str = "") -> None:
        if id(value) in self._seen or depth > 8:
            return
        if is_tensor(value):
            self._seen[id(value)] = value
            if not is_unallocated(value):
                self.places.append(TensorMemory(value))
            if value.is_leaf and value.grad is not None:
                self._remember(value.grad, depth + 1)
        elif is_module(value):
            self._seen[id(value)] = value
            self._attributes(value, depth)
            self._class(type(value), depth)
        elif isinstance(value, types.FunctionType):
            if not is_library(value.__module__):
                self._seen[id(value)] = value
                self._function(value, depth)
        elif isinstance(value, types.MethodType):
            self._remember(value.__func__, depth + 1)
            self._remember(value.__self__, depth + 1)
        elif isinstance(value, functools.partial):
            for held in (value.func, *value.args, *value.keywords.values()):
                self._remember(held, depth + 1)
        elif isinstance(value, _CONTAINERS) or type(value) is tuple:
            self._seen[id(value)] = value
            if not isinstance(value, tuple):
                self.places.append(Container(value, label))
            for held in value.values() if isinstance(value, dict) else value:
                self._remember(held, depth + 1)
        elif isinstance(value, _MEMO):
            self._seen[id(value)] = value
            self.places.append(Memo(value))
            self._remember(value.__wrapped__, depth + 1)
        elif isinstance(value, np.ndarray):
            self._seen[id(value)] = value
            self.places.append(Array(value))
        elif isinstance(value, type):
            self._class(value, depth)
        elif _keeps_state(value):
            self._seen[id(value)] = value
            self._attributes(value, depth)
            self._class(type(value), depth)

    def _attributes(self, owner: Any, depth: int) -> None:
        attributes = vars(owner)
        self.places.append(Container(attributes, owned=True))
        for name, held in list(attributes.items()):
            self._remember(held, depth + 1, name)

    def _class(self, cls: type, depth: int) -> None:
        """Follow a user's class: what it holds, and what its methods reach."""
        if id(cls) in self._seen or is_library(cls.__module__):
            return
        self._seen[id(cls)] = cls
        kept = ClassAttributes(cls)
        self.places.append(kept)
        methods = {name: getattr(held, "__func__", held) for name, held in vars(cls).items()}
        for name in _reached(methods):
            self._remember(methods[name], depth + 1)
        for held in kept.before.values():
            if is_tensor(held) or isinstance(held, (*_CONTAINERS, np.ndarray, _MEMO)):
                self._remember(held, depth + 1)

    def _function(self, function: types.FunctionType, depth: int) -> None:
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            try:
                held = cell.cell_contents
            except ValueError:  # an empty cell
                continue
            self.places.append(Variable(cell, "cell_contents", name))
            self._remember(held, depth + 1, name)
        variables = function.__globals__
        for name in global_names(function.__code__):
            if name in variables and not isinstance(variables[name], _OPAQUE):
                self.places.append(Variable(variables, name, name))
                self._remember(variables[name], depth + 1, name)
            elif isinstance(variables.get(name), type):
                self._class(variables[name], depth + 1)
        for held in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._remember(held, depth + 1)
        self._attributes(function, depth)


_ENTRIES = "forward", "__call__", "backward", "setup_context"


def _reached(methods: dict[str, Any]) -> list[str]:
    """The methods that calling an object runs: its entry points, and those that they name."""
    found = [name for name in _ENTRIES if isinstance(methods.get(name), types.FunctionType)]
    for name in found:
        for named in global_names(methods[name].__code__):
            if named not in found and isinstance(methods.get(named), types.FunctionType):
                found.append(named)
    return found


_OPAQUE = type, types.ModuleType, types.BuiltinFunctionType
_LIBRARIES = {"tautograd", "torch", "numpy", "scipy"} | sys.stdlib_module_names


def is_library(module: str | None) -> bool:
    """Whether this module's code keeps no user state."""
    root = (module or "").partition(".")[0]
    return root in _LIBRARIES and root != "__main__"


def _keeps_state(value: Any) -> bool:
    """Whether it is a callable user object that a call may change."""
    opaque = isinstance(value, _OPAQUE) or is_library(type(value).__module__)
    return callable(value) and hasattr(value, "__dict__") and not opaque


def global_names(code: types.CodeType) -> Iterator[str]:
    """The global names in a function's code and in the functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from global_names(constant)


STREAMS = {
    "python": "Python's random module",
    "numpy": "NumPy's global generator",
    "cpu": "the engine's generator",
    "cuda": "the GPU's generator",
    "mps": "the GPU's generator",
}
"""The names of the random streams in a sentence."""


def streams(engine: Any) -> dict[str, Any]:
    """The state of every random stream a computation may draw from."""
    found = {
        "python": random.getstate(),
        "numpy": np.random.get_state(),  # noqa: NPY002 - the stream user code may draw from
        "cpu": engine.get_rng_state(),
    }
    if engine.cuda.is_available() and engine.cuda.is_initialized():
        found["cuda"] = engine.cuda.get_rng_state_all()
    mps = getattr(engine, "mps", None)
    if mps is not None and engine.backends.mps.is_available():
        found["mps"] = mps.get_rng_state()
    return found


def set_streams(engine: Any, state: dict[str, Any]) -> None:
    """Restore the random streams."""
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])  # noqa: NPY002
    engine.set_rng_state(state["cpu"])
    if "cuda" in state:
        engine.cuda.set_rng_state_all(state["cuda"])
    if "mps" in state:
        engine.mps.set_rng_state(state["mps"])


def streams_moved(engine: Any, before: dict[str, Any]) -> list[str]:
    """The random streams that have been drawn from since."""
    now = streams(engine)
    return [name for name, state in before.items() if not _same_state(state, now.get(name))]


def _same_state(one: Any, other: Any) -> bool:
    if is_tensor(one):
        return bool((one == other).all())
    if isinstance(one, (list, tuple)):
        return (
            isinstance(other, (list, tuple))
            and len(one) == len(other)
            and all(map(_same_state, one, other))
        )
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    return bool(one == other)
