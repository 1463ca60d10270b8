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
from .call import Source, load
from .table import TABLE


def make(name: str, dtype: Any) -> Callable[..., Any] | None:
    """The kernel of a name for arrays of a dtype."""
    if why_not() is not None:
        return None
    signature, write = TABLE[name]
    try:
        return load(Source(name, signature, write), dtype)
    except (OSError, RuntimeError) as error:  # LLVM's own errors are of these classes
        warnings.warn(
            f"no machine code for the kernel {name!r} of {dtype}, NumPy computes it: {error}",
            stacklevel=warning_level(),
        )
        return None
