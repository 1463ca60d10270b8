"""When a record may be replayed: everything it depended on is as it was.

What can differ from call to call without Python noticing is compared at each call, cheapest first:
arguments, the thread's modes, the memory of tensors, `.grad`, optimizers' settings, modules, and the
variables that the function reads from outside.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter, is_
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from .._arrays.dtypes import get_default_dtype
from .._autograd.effects import structure
from .._autograd.modes import modes
from .._tensor.tensor import Tensor
from .capture import Capture
from .lifting import grad_of
from .modules import Modules

_data_of = attrgetter("_data")
_SIMPLE = (bool, int, float, complex, str, bytes, type(None))


def key_of(value: Any) -> Any:
    """What a record depends on of an argument: a tensor's form, a Python value itself."""
    kind = type(value)
    if kind is Tensor or isinstance(value, Tensor):
        data = value._data
        leaf = value._node is None
        return kind, data.shape, data.strides, data.dtype, value.requires_grad, leaf, data.flags.writeable  # fmt: skip
    if kind in (tuple, list):
        return kind, tuple([key_of(v) for v in value])
    if kind is dict:
        return kind, tuple([(k, key_of(v)) for k, v in value.items()])
    if kind in _SIMPLE:
        return kind, value
    if isinstance(value, tuple):
        return kind, tuple(key_of(v) for v in value)
    return kind, id(value)


def mode_key() -> Any:
    """The thread's modes that change what an operation does."""
    own = modes
    return own.grad, own.inference, own.lower, get_default_dtype()


def is_ordinary(tensors: Any) -> bool:
    """Whether arguments are plain tensors, and the thread in no mode that a program does not know."""
    if modes.special and not modes.inference:
        return False
    if modes.vmap_levels or modes.forward_level or modes.anomaly:
        return False
    return all(type(t._data) is np.ndarray and not t._tangents for t in tensors)


class Guards:
    """What must hold besides the arguments' form."""

    def __init__(self, found: Capture, modules: Modules, variables: Variables) -> None:
        self.tensors = [tensor for tensor, _ in found.outside]
        self.arrays = [array for _, array in found.outside]
        self.wants = [tensor._requires_grad for tensor in self.tensors]
        self.grads = found.grads_before
        self.updates = found.updates
        self.modules = modules
        self.hooks = _hooks_of(self.tensors)
        self.structure = structure[0]
        self.variables = variables

    def reason(self) -> str | None:
        """Why the record does not hold, or None if it does."""
        if not all(map(is_, map(_data_of, self.tensors), self.arrays)):
            return "a tensor from outside has other memory"
        for tensor, grad in self.grads:
            if grad_of(tensor) is not grad:
                return "`.grad` of a tensor is another one, or was cleared"
        for update in self.updates:
            if not update.holds():
                return f"settings of {type(update.optimizer).__name__} that choose its formula"
        if self.structure != structure[0]:
            if [tensor._requires_grad for tensor in self.tensors] != self.wants:
                return "requires_grad of a tensor from outside has changed"
            if not self.modules.hold():
                return "a module's mode, settings, hooks or members"
            if _hooks_of(self.tensors) != self.hooks:
                return "hooks of a tensor from outside"
            self.structure = structure[0]
        return self.variables.reason()


def _hooks_of(tensors: list[Tensor]) -> list[Any]:
    return [(tuple(t._hooks or ()), tuple(t._post_hooks or ())) for t in tensors if t._watched]


class Variables:
    """What a function reads by name: its closure's cells, and globals that it names."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        while isinstance(fn, MethodType) or hasattr(fn, "__wrapped__"):
            fn = fn.__func__ if isinstance(fn, MethodType) else fn.__wrapped__  # type: ignore[attr-defined]
        self.cells: list[tuple[str, Any, Any]] = []
        self.globals: list[tuple[str, Any]] = []
        self.names: dict[str, Any] = {}
        if isinstance(fn, FunctionType):
            for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
                if _content(cell) is not None:  # a cell that is filled is never emptied again
                    self.cells.append((name, cell, _content(cell)))
            self.names = fn.__globals__
            for name in fn.__code__.co_names:
                if name in self.names:
                    self.globals.append((name, self.names[name]))

    def reason(self) -> str | None:
        for name, cell, content in self.cells:
            if cell.cell_contents is not content and not _equal(cell.cell_contents, content):
                return f"the variable `{name}`"
        names = self.names
        for name, value in self.globals:
            if names.get(name) is not value and not _equal(names.get(name), value):
                return f"the global variable `{name}`"
        return None


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _equal(a: Any, b: Any) -> bool:
    return type(a) is type(b) and type(a) in _SIMPLE and a == b
