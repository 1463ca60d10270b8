"""Max pools of NumPy's own arrays in two dimensions, each in one pass over the images.

A program that is replayed calls the same functions, with the place for the result as `out`: of large images, whose
windows its loops would go through place by place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays import kernels
from ..convolution.windows import Ints
from .windows import Window

_WORTH_A_CALL = 1 << 13  # elements, of which loops take longer than a call from a program


def kernels_apply(window: Window, *arrays: Any) -> bool:
    """Whether these functions do it: now, or at each replay of what is being recorded."""
    if len(window.size) != 2 or not kernels.are_callable(*arrays):
        return False
    is_recorded = any(hasattr(type(x), "as_call") for x in arrays)
    if arrays[0].size < (_WORTH_A_CALL if is_recorded else kernels.FEWEST):
        return False
    dtype = arrays[0].dtype
    if any(x.dtype != dtype for x in arrays):
        return False
    return kernels.kernel_of("max_pool", dtype) is not None


def numbers_of(window: Window) -> tuple[int, ...]:
    """What the kernels are told of the windows, in their order."""
    pairs: tuple[Ints, ...] = (
        *(window.size, window.count, window.kernel),
        *(window.stride, window.low, window.dilation),
    )
    return tuple([n for pair in pairs for n in pair])


def pooled(x: Any, numbers: tuple[int, ...], out: Any = None) -> Any:
    """The largest element of each window."""
    return _run("max_pool", (*x.shape[:-2], *numbers[2:4]), x.size, (x,), numbers, out)


def spread_back(g: Any, x: Any, numbers: tuple[int, ...], out: Any = None) -> Any:
    """The gradient: what reaches a window goes to the element that won."""
    return _run("max_pool_gradient", x.shape, 2 * x.size, (g, x), numbers, out)


def _run(name: str, shape: Ints, work: int, arrays: Any, numbers: tuple[int, ...], out: Any) -> Any:
    arrays = [np.ascontiguousarray(x) for x in arrays]
    run = kernels.kernel_of(name, arrays[0].dtype)
    assert run is not None
    in_place = out is not None and out.flags.c_contiguous
    found = out if in_place else np.empty(shape, arrays[0].dtype)
    planes = found.size // max(1, shape[-1] * shape[-2])
    run(planes, work, *arrays, found, *numbers)
    if out is None or in_place:
        return found
    np.copyto(out, found)
    return out


for _function in (pooled, spread_back):
    setattr(_function, "takes_out", True)  # noqa: B010
