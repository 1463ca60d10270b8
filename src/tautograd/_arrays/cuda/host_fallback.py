"""The fallback: a NumPy function on copies in main memory, with the result copied back.

Used if CuPy has no such function, or not for these dtypes; `detours` counts how often. Errors
for wrong arguments are NumPy's, too: what CuPy refuses, NumPy refuses here with its own message.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from . import cuda_array
from .cuda_array import CudaArray

# How often a function had to run in main memory, by its name, the dtypes and the reason.
detours: Counter[str] = Counter()

# Functions that write into their first argument.
_WRITERS = frozenset((np.copyto, np.put, np.putmask, np.place, np.put_along_axis, np.fill_diagonal))


def detour(function: Any, args: Any, kwargs: Any, error: BaseException | None) -> Any:
    """Run a NumPy function on copies in main memory, and copy the result back."""
    if cuda_array.backend.capturing():
        raise RuntimeError(
            f"{_spoken(function)} needs the values of its arguments, and a CUDA graph is being "
            "captured, which cannot wait for them."
        ) from error
    kinds = [str(a.dtype) for a in (*args, *kwargs.values()) if hasattr(a, "dtype")]
    for a in args[:1]:
        if isinstance(a, (list, tuple)):
            kinds += [str(v.dtype) for v in a if hasattr(v, "dtype")][:1]
    here = [_in_main_memory(a) for a in args]
    named = {name: _in_main_memory(a) for name, a in kwargs.items()}
    with np.errstate(all="ignore"):
        result = function(*here, **named)
    reason = "" if error is None else f": {type(error).__name__}: {str(error)[:160]}"
    detours[f"{_spoken(function)}({', '.join(kinds)}){reason}"] += 1
    if function in _WRITERS or getattr(function, "__name__", "") == "at":
        cuda_array.backend.set_item(args[0].raw, ..., cuda_array.backend.to_device(here[0]))
    out = kwargs.get("out")
    if out is not None:
        targets, values = (out, named["out"]) if type(out) is tuple else ((out,), (named["out"],))
        for target, value in zip(targets, values, strict=True):
            if type(target) is CudaArray:
                cuda_array.backend.set_item(target.raw, ..., cuda_array.backend.to_device(value))
        return None
    return _brought_back(result)


def _in_main_memory(x: Any) -> Any:
    if type(x) is CudaArray:
        return x.host()
    if type(x) in (tuple, list):
        return type(x)([_in_main_memory(v) for v in x])
    return x


def _brought_back(x: Any) -> Any:
    if isinstance(x, (np.ndarray, np.generic)):
        return cuda_array.backend.to_device(np.asarray(x))
    if isinstance(x, (tuple, list)):
        parts = [_brought_back(v) for v in x]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    return x


def _spoken(function: Any) -> str:
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", str(function))
    return f"{owner.__name__}.{name}" if isinstance(owner, np.ufunc) else name
