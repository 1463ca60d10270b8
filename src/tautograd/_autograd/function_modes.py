"""Watching and replacing every call on tensors: the stack of `TorchFunctionMode`s of a thread.

An operation is shown where it is applied: `apply` takes the long way while a mode is active, and
asks here first. What is no operation but touches values or the graph (`item`, `detach`, `.data`, a
write in place) is shown by wrappers that are put on `Tensor` when the first mode of any thread is
entered, and taken off with the last one. So a program without modes pays nothing. A mode whose
`sees_writes` is false gets the operations that a write is made of instead of the write: most wrappers
are those of writes, and it is entered much faster.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._ops.declare.public import METHODS
from .._ops.declare.record import Op
from .._stand_ins.slots import Make, WhileAnybody
from .._tensor.tensor import Tensor
from .apply import apply
from .modes import change, modes

# What leaves the graph, or asks for it, without being an operation.
_WATCHED = (
    *("__array__", "__bool__", "__complex__", "__contains__", "__float__", "__format__"),
    *("__index__", "__int__", "__repr__", "__setitem__", "backward", "detach", "detach_", "item"),
    *("is_nonzero", "new_tensor", "numpy", "register_hook", "requires_grad_", "retain_grad"),
    "tolist",
)
# Operators that write; PyTorch shows some of them by another name.
_UPDATES = {
    "__iadd__": "add_",
    "__isub__": "sub_",
    "__imul__": "mul_",
    "__itruediv__": "div_",
    "__idiv__": "div_",
    **{name: name for name in ("__ifloordiv__", "__imod__", "__ipow__", "__iand__", "__ior__")},
    **{name: name for name in ("__ixor__", "__ilshift__", "__irshift__")},
}
_released: list[Any] = []  # modes that another thread than theirs has ended


class Recorded:
    """An operation's record as a function of tensors; what a mode gets as `func`."""

    def __init__(self, op: Op, compute: Any) -> None:
        self.op = op
        self.compute = compute
        self.__name__ = self.__qualname__ = op.public_name.rpartition(".")[2]

    def __call__(self, *inputs: Any, **parameters: Any) -> Any:
        compute = self.compute
        if compute is not None:  # other tensors may be given, of a wider dtype
            wider = [x._data.dtype for x in inputs if isinstance(x, Tensor)]
            wider = [dtype for dtype in wider if dtype.char in "dD"]
            if compute.kind in "fcV" and wider:
                compute = np.result_type(*wider, *([compute] if compute.kind == "c" else []))
        return apply(self.op, inputs, parameters, compute)

    def __repr__(self) -> str:
        return f"<operation {self.__name__}>"


def shown(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Hand a call to the innermost mode, which is not active while it answers."""
    if _released and _forget_released():
        return func(*args, **kwargs)
    with without_innermost() as mode:
        return mode.__torch_function__(func, _types(args), args, kwargs)


def _forget_released() -> bool:
    """Take the modes of this thread that another one has ended from its stack, if there are any."""
    ended = [mode for mode in modes.function_modes if any(mode is one for one in _released)]
    for mode in ended:
        change(function_modes=tuple(one for one in modes.function_modes if one is not mode))
        _released[:] = [one for one in _released if one is not mode]
    return bool(ended)


@contextmanager
def without_innermost() -> Iterator[Any]:
    """Take the innermost mode away for a while."""
    before = modes.function_modes
    change(function_modes=before[:-1])
    try:
        yield before[-1]
    finally:
        change(function_modes=before)


def enter(mode: Any) -> None:
    """Make a mode the innermost one of this thread."""
    _wrappers_for(mode).__enter__()
    change(function_modes=(*modes.function_modes, mode))


def leave() -> None:
    """Take this thread's innermost mode away for good."""
    if _released:
        _forget_released()
    *others, mode = modes.function_modes
    change(function_modes=tuple(others))
    _wrappers_for(mode).__exit__()


def release(mode: Any) -> None:
    """Let a mode of another thread be as if it had left; its thread forgets it when next it looks."""
    _released.append(mode)
    _wrappers_for(mode).__exit__()


def _types(args: tuple[Any, ...]) -> tuple[type, ...]:
    """The subclasses of Tensor among the arguments."""
    return tuple({type(a): None for a in args if isinstance(a, Tensor) and type(a) is not Tensor})


@functools.lru_cache(maxsize=1024)  # modes come and go, some of them at each step
def watched(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A method that a mode sees."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if modes.function_modes:
            return shown(call, args, kwargs)
        return fn(*args, **kwargs)

    call.__name__ = name
    return call


def _names() -> Iterable[tuple[Any, str, Make]]:
    """What is on `Tensor` while any thread has a mode."""
    return _names_among(len(METHODS))


@functools.lru_cache(maxsize=1)
def _names_among(methods: int) -> list[tuple[Any, str, Make]]:
    """The same, for as many methods as there are by now: modules that are loaded late bring more."""
    return list(_made_names())


def _made_names() -> Iterator[tuple[Any, str, Make]]:
    writes = {name for name in METHODS if name.endswith("_") and not name.startswith("_")}
    for name in {*writes, *_UPDATES} - {*_WATCHED}:
        if hasattr(Tensor, name):
            yield Tensor, name, _watching(_UPDATES.get(name, name))
    yield from _names_but_writes()


@functools.cache
def _names_but_writes() -> list[tuple[Any, str, Make]]:
    watched = [(Tensor, name, _watching(name)) for name in _WATCHED if hasattr(Tensor, name)]
    return [*watched, (Tensor, "data", _watched_data)]


_wrappers = WhileAnybody(_names)
_wrappers_but_writes = WhileAnybody(_names_but_writes)


def _wrappers_for(mode: Any) -> WhileAnybody:
    return _wrappers if getattr(mode, "sees_writes", True) else _wrappers_but_writes


@functools.cache
def _watching(name: str) -> Make:
    return lambda fn: watched(fn, name)


def _watched_data(original: Any) -> Any:
    def get_data(self: Tensor) -> Any:
        if modes.function_modes:
            return shown(Tensor.__dict__["data"].__get__, (self,), {})
        return original.fget(self)

    def set_data(self: Tensor, value: Any) -> None:
        if modes.function_modes:
            shown(Tensor.__dict__["data"].__set__, (self, value), {})
        else:
            original.fset(self, value)

    return property(get_data, set_data)
