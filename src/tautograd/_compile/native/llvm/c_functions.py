"""Machine code as functions of CPython's own kind: the cheapest way from Python into it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any

from ..disk_cache import store
from . import jit


class Method(ctypes.Structure):
    """CPython's `PyMethodDef`: name, address, flags, documentation."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


NO_ARGUMENTS = 0x0004  # METH_NOARGS
ONE_ARGUMENT = 0x0008  # METH_O


_new_function = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object
)(("PyCFunction_NewEx", ctypes.pythonapi))


def function_of(method: Method, own: Any, held: Any = None) -> Callable[..., Any]:
    """A Python function that gives machine code `own` and its argument.

    CPython's function object has the address of the method and no more. Both that and the code behind it
    (`held`; None if it stays for good) must live as long as the function may be called, by whichever thread:
    so the function itself holds them, where others hold their module.
    """
    return _new_function(ctypes.addressof(method), own, (method, held))  # type: ignore[no-any-return]


def symbols_of(names: Iterable[str]) -> dict[str, int]:
    """Functions of CPython's, and where they are."""
    functions = {name: getattr(ctypes.pythonapi, name) for name in names}
    return {n: ctypes.cast(f, ctypes.c_void_p).value or 0 for n, f in functions.items()}


def method_from(text: str, name: str, used: dict[str, str], flags: int) -> Method:
    """A function in LLVM's language, loaded for good; `used` are CPython's that it calls, with their types."""
    kinds = {symbol: kind.partition(" ") for symbol, kind in used.items()}
    declared = [
        f"declare {result} @{symbol}{given}" for symbol, (result, _, given) in kinds.items()
    ]
    code, _ = store.compiled("\n".join([*declared, text]))
    loaded = jit.Loaded(code, symbols_of(used))
    method = Method(name.encode(), loaded.address(name), flags, None)
    loaded.keep()
    return method
