"""The interface to machine-code kernels: a function by name and dtype, or None if there is none.

A kernel takes NumPy's own arrays of float32 or float64 in row-major order, of any shape, and writes to
arrays that are passed in. Its caller implements the same computation with NumPy functions too, and falls back to that
for everything else: arrays that are recorded, batched, on a GPU, or lifted to tensors, other dtypes and layouts, and
all arrays if llvmlite is not installed or `TAUT_KERNELS=0` is set. Both ways agree to a bound that
`tests/eager_kernels` derives for each.

The code that makes kernels lies above (`_kernels`, on the code generator of `_compile`), so it is named here and
imported lazily, with the first kernel: importing tautograd loads no compiler.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from .once import making

Kernel = Callable[..., Any]
MAKER = "tautograd._kernels"

FEWEST = 1024  # elements: for fewer NumPy is as fast
BLOCK = 4096  # elements per unit of an elementwise kernel
WORTH_A_COMPILER = 4096  # runs of a small program that take as long as loading the compiler

_ndarray = np.ndarray
_kinds = {np.dtype(np.float32): "f", np.dtype(np.float64): "d"}
_found: dict[tuple[str, Any], Kernel | None] = {}
_asked: dict[tuple[str, Any], int] = {}  # elements for which a kernel not yet made was wanted
_off = os.environ.get("TAUT_KERNELS", "") == "0"


def kernel(name: str, *arrays: Any) -> Kernel | None:
    """The kernel for these arrays, if they have one dtype and are row-major; else None."""
    if _off:
        return None
    dtype = arrays[0].dtype
    for x in arrays:
        if type(x) is not _ndarray or x.dtype is not dtype or not x.flags.c_contiguous:
            return None
    try:
        return _found[name, dtype]
    except KeyError:
        return _make(name, dtype)


def kernel_of(name: str, dtype: Any) -> Kernel | None:
    """A kernel whose arrays may have fixed dtypes of their own; it is still chosen by dtype."""
    if _off:
        return None
    try:
        return _found[name, dtype]
    except KeyError:
        return _make(name, dtype)


def kernel_for_work(name: str, dtype: Any, work: int) -> Kernel | None:
    """A kernel worth using for any size once it exists: made when enough work has asked for it."""
    try:
        return None if _off else _found[name, dtype]
    except KeyError:
        asked = _asked[name, dtype] = _asked.get((name, dtype), 0) + work
        return _make(name, dtype) if asked >= FEWEST else None


def elementwise(name: str, *arrays: Any, cost: float = 1.0) -> Any:
    """An elementwise function of arrays of one shape by a kernel; None if unavailable or not worth it.

    `cost` is the work per element, relative to copying one.
    """
    x = arrays[0]
    if type(x) is not _ndarray or x.size < FEWEST:
        return None
    if len(arrays) > 1 and arrays[1].shape != x.shape:
        return None
    run = kernel(name, *arrays)
    if run is None:
        return None
    out = np.empty(x.shape, x.dtype)
    run(-(-x.size // BLOCK), int(x.size * cost) >> 2, *arrays, out, x.size)
    return out


def called(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function of NumPy's own arrays: now, and for recorded arrays at each replay, too.

    So a program calls what eager mode calls, where no loop generated from its formula comes close.
    """
    for x in args:
        note = getattr(x, "as_call", None)
        if note is not None:
            return note(function, args, {})
    return function(*args)


def are_callable(*arrays: Any) -> bool:
    """Whether `called` can be used with these: each is NumPy's own array, a recorded one, or None."""
    return all(x is None or type(plain(x)) is _ndarray for x in arrays)


def plain(x: Any) -> Any:
    """The array underlying a recorded one; any other unchanged."""
    return x.value if hasattr(type(x), "as_call") else x


def _make(name: str, dtype: Any) -> Kernel | None:
    if dtype not in _kinds:
        return None
    with making:
        key = name, dtype
        if key not in _found:
            _found[key] = importlib.import_module(MAKER).make(name, dtype)
        return _found[key]


def pays_for_a_compiler(runs: int) -> bool:
    """Whether a program that has run so often is worth a kernel: always if the compiler is already loaded."""
    return bool(_found) or runs >= WORTH_A_COMPILER


def kernel_of_program(dtype: Any, *program: Any) -> Kernel | None:
    """A kernel for a program of array functions on arrays of a dtype; None if it cannot have one."""
    if _off or dtype not in _kinds:
        return None
    with making:
        kernel: Kernel | None = importlib.import_module(MAKER).make_for_program(dtype, *program)
        return kernel


def is_off() -> bool:
    """Whether kernels are disabled."""
    return _off


def switch(on: bool) -> bool:
    """Enable or disable kernels from now on; returns the previous setting."""
    global _off
    before, _off = not _off, not on
    return before
