"""Kernels of machine code for eager mode: text from the code generator of `_compile`, compiled once per machine.

`make(name, dtype)` gives a function that takes arrays and numbers, or None where there can be none. A kernel's text is
fixed for a dtype and a processor, whatever the shapes; its object code is kept on disk, signed, as that of compiled
programs is (`_compile/native/disk_cache`). `TABLE` says what there is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .._compile.native.llvm.jit import why_not
from .._user_code.sites import warning_level
from . import products
from .call import Source, load
from .programs import make_program
from .table import TABLE


def make(name: str, dtype: Any) -> Callable[..., Any] | None:
    """The kernel of a name for arrays of a dtype."""
    if name in products.PRODUCTS and not products.possible():
        return None
    signature, write = TABLE[name]
    return _tried(
        f"the kernel {name!r}", dtype, lambda: load(Source(name, signature, write), dtype)
    )


def make_for_program(dtype: Any, *program: Any) -> Callable[..., Any] | None:
    """A kernel for a program of array functions."""
    return _tried("an optimizer's formula", dtype, lambda: make_program(dtype, *program))


def _tried(what: str, dtype: Any, make: Callable[[], Any]) -> Callable[..., Any] | None:
    if why_not() is not None:
        return None
    try:
        found: Callable[..., Any] | None = make()
        return found
    except (OSError, RuntimeError) as error:  # LLVM's own errors are of these classes
        warnings.warn(
            f"no machine code for {what} of {dtype}, NumPy computes it: {error}",
            stacklevel=warning_level(),
        )
        return None
