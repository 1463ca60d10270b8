"""Windows that slide over the last dimensions of an array: sizes, padding, and the views they give.

A window has an extent per dimension (`kernel`), moves by `stride`, and takes every `dilation`-th
element; the array may be padded first. Convolutions, pools and patches are all written with what is
here. One *offset* names the same place in every window: `x[at(offset, …)]` is that place's element
for all windows at once, a view.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from ...._arrays.strided import strided
from ...declare.dims import require_int

Ints = tuple[int, ...]


def int_of(value: Any) -> int:
    return value if type(value) is int else require_int(value, None, "size")


def covered(kernel: int, dilation: int) -> int:
    """How many elements lie between the first and the last of a window, both included."""
    return dilation * (kernel - 1) + 1


def steps(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """How many windows fit in each dimension."""
    return tuple(
        [
            (n + 2 * p - covered(k, d)) // s + 1
            for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True)
        ]
    )


@functools.lru_cache(maxsize=256)
def offsets(kernel: Ints) -> tuple[Ints, ...]:
    """The places in a window, in order."""
    return tuple(itertools.product(*[range(k) for k in kernel]))


@functools.lru_cache(maxsize=4096)
def at(offset: Ints, count: Ints, stride: Ints, dilation: Ints) -> tuple[Any, ...]:
    """The index of one place of every window, in the last dimensions of an array."""
    return (
        Ellipsis,
        *[
            slice(o * d, o * d + (n - 1) * s + 1, s)
            for o, n, s, d in zip(offset, count, stride, dilation, strict=True)
        ],
    )


def inside(low: Ints, size: Ints) -> tuple[Any, ...]:
    """The index of what lies between the paddings."""
    return (Ellipsis, *[slice(a, a + n) for a, n in zip(low, size, strict=True)])


def padded(x: Any, low: Ints, high: Ints, value: Any = 0) -> Any:
    """The array with its last dimensions made longer at both ends; itself if by nothing."""
    if not any(low) and not any(high):
        return x
    lead = x.ndim - len(low)
    size = tuple(x.shape)[lead:]
    longer = tuple([n + a + b for n, a, b in zip(size, low, high, strict=True)])
    whole = np.full_like(x, value, shape=(*tuple(x.shape)[:lead], *longer), order="C")
    whole[inside(low, size)] = x
    return whole


def window_views(x: Any, kernel: Ints, count: Ints, stride: Ints, dilation: Ints) -> Any:
    """A NumPy array's windows without a copy: `(…, *kernel, *count)`."""
    rank = len(kernel)
    steps_of = x.strides[x.ndim - rank :]
    return strided(
        x,
        (*x.shape[: x.ndim - rank], *kernel, *count),
        (
            *x.strides[: x.ndim - rank],
            *[a * d for a, d in zip(steps_of, dilation, strict=True)],
            *[a * s for a, s in zip(steps_of, stride, strict=True)],
        ),
    )


def gathered(x: Any, kernel: Ints, count: Ints, stride: Ints, dilation: Ints) -> Any:
    """Any array's windows, copied: `(…, *kernel, *count)`."""
    lead = tuple(x.shape)[: x.ndim - len(kernel)]
    parts = [x[at(o, count, stride, dilation)] for o in offsets(kernel)]
    return np.reshape(np.stack(parts, axis=len(lead)), (*lead, *kernel, *count))


def spread(windows: Any, size: Ints, kernel: Ints, stride: Ints, dilation: Ints) -> Any:
    """The adjoint of `gathered`: every element of a window is added where it came from."""
    rank = len(kernel)
    lead = tuple(windows.shape)[: windows.ndim - 2 * rank]
    count = tuple(windows.shape)[windows.ndim - rank :]
    whole = np.zeros_like(windows, shape=(*lead, *size), order="C")
    before = (slice(None),) * len(lead)
    for offset in offsets(kernel):
        whole[at(offset, count, stride, dilation)] += windows[(*before, *offset)]
    return whole
