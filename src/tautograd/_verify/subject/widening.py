"""A computation without its roundings: every cast to a lower precision is skipped, and autocast is off.

Code that passes through bfloat16 computes a staircase, whose slope differences cannot see. Without its
casts it is the intended function; that one is verified in float64, and the gradient as actually
computed, rounding included, is compared with it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import numpy as np

from ..._stand_ins.function_mode import FunctionMode
from ..._stand_ins.slots import replace
from ..._trees.nests import WITH_DATACLASSES as NESTS

_WIDE = {
    **dict.fromkeys(("float16", "bfloat16", "float32"), "float64"),
    **dict.fromkeys(("complex32", "complex64"), "complex128"),
}
_CASTS = frozenset(("float", "half", "bfloat16", "chalf", "cfloat"))
_MADE = ("zeros", "ones", "full", "empty", "zeros_like", "ones_like", "full_like", "empty_like")
_MADE_LIKE = ("new_zeros", "new_ones", "new_full", "new_empty")
_BY_BITS = frozenset(("view", "numpy", "frombuffer", "__array__"))
"""Where a dtype says how to interpret bits, not which precision to compute in."""


def wide_name(dtype: Any) -> str | None:
    """The wide dtype that stands in for a lower one, by name; None for all others."""
    return _WIDE.get(str(dtype).rpartition(".")[2])


@contextmanager
def widened(engine: Any) -> Iterator[None]:
    """Inside, everything this thread computes is in float64 and complex128."""

    def see(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        name = str(getattr(function, "__name__", ""))
        if name in _CASTS and args and _is_real(engine, args[0]):
            return _wide(engine, args[0])
        first = args[:1] if _writes(name) else ()
        if name not in _BY_BITS:
            args, kwargs = NESTS.mapped((args, kwargs), lambda value: _wide(engine, value))
        args = (*first, *args[len(first) :])
        with _plain(engine):
            result = function(*args, **kwargs)
        return result if _writes(name) else NESTS.mapped(result, lambda v: _wide_tensor(engine, v))

    with FunctionMode(engine, see), _wide_from_the_start(engine):
        yield


@contextmanager
def _wide_from_the_start(engine: Any) -> Iterator[None]:
    """Inside, low-precision tensors that this thread creates to write results into are wide as well.

    PyTorch's modes see such calls, tautograd's do not: there they are patched.
    """
    if engine.__name__ == "torch":
        yield
        return
    thread = threading.get_ident()

    def wide(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def made(*args: Any, **kwargs: Any) -> Any:
            if "dtype" in kwargs and threading.get_ident() == thread:
                kwargs["dtype"] = _wide(engine, kwargs["dtype"])
            return function(*args, **kwargs)

        return made

    with ExitStack() as stack:
        for owner, names in ((engine, _MADE), (engine.Tensor, _MADE_LIKE)):
            for name in names:
                stack.callback(replace(owner, name, wide))
        yield


def _writes(name: str) -> bool:
    return name in ("__setitem__", "__set__") or (name.endswith("_") and not name.endswith("__"))


def _plain(engine: Any) -> Any:
    on = engine.is_autocast_enabled("cpu")
    return engine.autocast("cpu", enabled=False) if on else nullcontext()


def _is_real(engine: Any, value: Any) -> bool:
    return isinstance(value, engine.Tensor) and (value.is_floating_point() or value.is_complex())


def _wide(engine: Any, value: Any) -> Any:
    if isinstance(value, engine.Tensor):
        return _wide_tensor(engine, value)
    if isinstance(value, np.dtype):
        return np.dtype(_WIDE[value.name]) if value.name in _WIDE else value
    if isinstance(value, engine.dtype):
        wide = wide_name(value)
        return value if wide is None else getattr(engine, wide)
    return value


def _wide_tensor(engine: Any, value: Any) -> Any:
    if not _is_real(engine, value):
        return value
    wide = wide_name(value.dtype)
    return value if wide is None else value.to(getattr(engine, wide))
