"""The seam to kernels of machine code: a function by its name and dtype, or None where there is none.

A kernel takes NumPy's own arrays of float32 or float64 that lie in row-major order, of any shape, and writes into
arrays that it is given. Whoever asks has the same computation in NumPy's functions too, and takes that way
for everything else: arrays that are recorded, batched, on a GPU, or lifted to tensors, other dtypes and layouts, and
all of them where llvmlite is not installed or `TAUT_KERNELS=0` says so. Both ways agree to a bound that
`tests/eager_kernels` derives for each.

What makes kernels lies above (`_kernels`, on the code generator of `_compile`), so it is named here and imported
when a kernel is first asked for: importing tautograd loads no compiler.
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

FEWEST = 1024  # elements: NumPy's way is as fast for fewer
BLOCK = 4096  # elements of a unit of an elementwise kernel
WORTH_A_COMPILER = 4096  # runs of a small program: as long as it takes to load one

_ndarray = np.ndarray
_kinds = {np.dtype(np.float32): "f", np.dtype(np.float64): "d"}
_found: dict[tuple[str, Any], Kernel | None] = {}
_asked: dict[tuple[str, Any], int] = {}  # elements that a kernel which is not there was wanted for
_off = os.environ.get("TAUT_KERNELS", "") == "0"


def kernel(name: str, *arrays: Any) -> Kernel | None:
    """The kernel for these arrays, which are of one dtype and lie in row-major order; else None."""
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
    """A kernel whose arrays are of its own kinds; it belongs to a dtype all the same."""
    if _off:
        return None
    try:
        return _found[name, dtype]
    except KeyError:
        return _make(name, dtype)


def kernel_for_work(name: str, dtype: Any, work: int) -> Kernel | None:
    """A kernel that pays for any number of elements once it is there: made when enough work has asked for it."""
    try:
        return None if _off else _found[name, dtype]
    except KeyError:
        asked = _asked[name, dtype] = _asked.get((name, dtype), 0) + work
        return _make(name, dtype) if asked >= FEWEST else None


def elementwise(name: str, *arrays: Any, cost: float = 1.0) -> Any:
    """A function of each element of arrays of one shape, by a kernel; None if that is not to be had, or not worth it.

    `cost` is what an element takes, in those of one that is only moved.
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
    """What a function of NumPy's own arrays gives: now, and of arrays that are recorded at each replay, too.

    So a program calls what eager mode calls, where no loop that could be made of its formula comes near.
    """
    for x in args:
        note = getattr(x, "as_call", None)
        if note is not None:
            return note(function, args, {})
    return function(*args)


def are_callable(*arrays: Any) -> bool:
    """Whether `called` can come to a function of NumPy's own arrays with these: they are that, recorded, or None."""
    return all(x is None or type(plain(x)) is _ndarray for x in arrays)


def plain(x: Any) -> Any:
    """The array that a recorded one shows; any other as it is."""
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
    """Whether a program that has run so many times is worth a kernel: always if the compiler is loaded already."""
    return bool(_found) or runs >= WORTH_A_COMPILER


def kernel_of_program(dtype: Any, *program: Any) -> Kernel | None:
    """A kernel for a program of array functions on arrays of a dtype; None if it can have none."""
    if _off or dtype not in _kinds:
        return None
    with making:
        kernel: Kernel | None = importlib.import_module(MAKER).make_for_program(dtype, *program)
        return kernel


def is_off() -> bool:
    """Whether there are to be none."""
    return _off


def switch(on: bool) -> bool:
    """Use kernels or do not, from now on; gives what was set before."""
    global _off
    before, _off = not _off, not on
    return before
