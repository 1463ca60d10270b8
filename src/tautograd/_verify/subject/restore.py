"""Leaving no trace: what a computation can change is put back, bit for bit, after it was tried.

That is: the values, gradients, modes and attributes of the modules it holds, tensors and variables it
closes over, and the random streams. A computation holds what it is (a module, a bound method's
object, a partial's arguments), what its closure holds, and the globals its code names.
"""

from __future__ import annotations

import functools
import random
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .engines import engine_of, is_module, is_tensor

_CONTAINERS = list, dict, set


class Untouched:
    """Remembers a computation's state; `restore()` puts it back as often as wanted."""

    def __init__(self, engine: Any, *subjects: Any) -> None:
        self.engine = engine
        self._undo: list[Callable[[], None]] = []
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
        """Put everything back."""
        for undo in self._undo:
            undo()
        set_streams(self.engine, self.streams)
        self.engine.set_grad_enabled(self._modes)

    def _remember(self, value: Any, depth: int = 0) -> None:
        if id(value) in self._seen or depth > 8:
            return
        if is_tensor(value):
            self._seen[id(value)] = value
            self._undo.append(_tensor(value))
            if value.is_leaf and value.grad is not None:
                self._remember(value.grad, depth + 1)
        elif is_module(value):
            self._seen[id(value)] = value
            self._attributes(value, depth)
            self._remember(type(value).forward, depth + 1)
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
                self._undo.append(_container(value))
            for held in value.values() if isinstance(value, dict) else value:
                self._remember(held, depth + 1)
        elif _keeps_state(value):
            self._seen[id(value)] = value
            self._attributes(value, depth)

    def _attributes(self, owner: Any, depth: int) -> None:
        attributes = vars(owner)
        self._undo.append(_container(attributes))
        for held in list(attributes.values()):
            self._remember(held, depth + 1)

    def _function(self, function: types.FunctionType, depth: int) -> None:
        for cell in function.__closure__ or ():
            try:
                held = cell.cell_contents
            except ValueError:  # not filled yet
                continue
            self._undo.append(functools.partial(setattr, cell, "cell_contents", held))
            self._remember(held, depth + 1)
        variables = function.__globals__
        for name in global_names(function.__code__):
            if name in variables and not isinstance(variables[name], _OPAQUE):
                self._undo.append(functools.partial(_rebind, variables, name, variables[name]))
                self._remember(variables[name], depth + 1)
        for held in function.__defaults__ or ():
            self._remember(held, depth + 1)


_OPAQUE = type, types.ModuleType, types.BuiltinFunctionType
_LIBRARIES = {"tautograd", "torch", "numpy", "scipy"} | sys.stdlib_module_names


def is_library(module: str | None) -> bool:
    """Whether code of this module keeps no state of the user's."""
    root = (module or "").partition(".")[0]
    return root in _LIBRARIES and root != "__main__"


def _keeps_state(value: Any) -> bool:
    """Whether it is an object of the user's that can be called, and may change when it is."""
    opaque = isinstance(value, _OPAQUE) or is_library(type(value).__module__)
    return callable(value) and hasattr(value, "__dict__") and not opaque


def global_names(code: types.CodeType) -> Iterator[str]:
    """The global names in a function's code and in the functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from global_names(constant)


def _rebind(variables: dict[str, Any], name: str, value: Any) -> None:
    if variables.get(name) is not value:
        variables[name] = value


def _tensor(tensor: Any) -> Callable[[], None]:
    """How to put back a tensor's values, shape, gradient and whether it requires one."""
    leaf = tensor.is_leaf
    if _unallocated(tensor):
        return lambda: None
    saved, wanted = tensor.detach().clone(), tensor.requires_grad
    grad = tensor.grad if leaf else None

    def undo() -> None:
        if _unallocated(tensor):
            return
        now = tensor.detach()
        if tuple(now.shape) != tuple(saved.shape) or now.dtype != saved.dtype:
            tensor.data = saved.clone()
        elif not same_bits(now, saved):
            tensor.data.copy_(saved)  # through .data: saved graphs need not know
        if leaf and tensor.is_leaf:
            if tensor.requires_grad != wanted:
                tensor.requires_grad_(wanted)
            if tensor.grad is not grad:
                tensor.grad = grad

    return undo


def _unallocated(tensor: Any) -> bool:
    """Whether it is a lazy parameter before its first use."""
    return type(tensor).__name__.startswith("Uninitialized")


def _container(held: Any) -> Callable[[], None]:
    """How to put back what a list, dictionary or set holds."""
    before = list(held.items()) if isinstance(held, dict) else list(held)

    def undo() -> None:
        now = list(held.items()) if isinstance(held, dict) else list(held)
        if len(now) == len(before) and all(map(_identical, now, before)):
            return
        if isinstance(held, list):
            held[:] = before
        else:
            held.clear()
            held.update(before)

    return undo


def _identical(one: Any, other: Any) -> bool:
    if type(one) is tuple and type(other) is tuple and len(one) == len(other) == 2:
        return one[0] is other[0] and one[1] is other[1]
    return one is other


def same_bits(one: Any, other: Any) -> bool:
    """Whether two tensors hold the same numbers; `nan` equals `nan`, and 0 is not -0."""
    if one.dtype != other.dtype or tuple(one.shape) != tuple(other.shape):
        return False
    engine = engine_of([one])
    one, other = _bits(engine, one), _bits(engine, other)
    return bool(engine.equal(one, other.to(one.device)))


def _bits(engine: Any, tensor: Any) -> Any:
    """A tensor's bits as integers."""
    tensor = tensor.detach()
    if tensor.is_complex():
        tensor = engine.view_as_real(tensor.resolve_conj())
    if not tensor.is_floating_point():
        return tensor
    return tensor.view(getattr(engine, f"int{8 * tensor.element_size()}"))


STREAMS = {
    "python": "Python's random module",
    "numpy": "NumPy's global generator",
    "cpu": "the engine's generator",
    "cuda": "the GPU's generator",
    "mps": "the GPU's generator",
}
"""What the random streams are called in a sentence."""


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
    """Put the random streams back."""
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])  # noqa: NPY002
    engine.set_rng_state(state["cpu"])
    if "cuda" in state:
        engine.cuda.set_rng_state_all(state["cuda"])
    if "mps" in state:
        engine.mps.set_rng_state(state["mps"])


def streams_moved(engine: Any, before: dict[str, Any]) -> list[str]:
    """The random streams that were drawn from since."""
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
