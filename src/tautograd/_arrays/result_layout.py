"""The layout of an elementwise result: which dimension steps fastest, as PyTorch decides it.

Operands are asked in order, and the first that can tell two dimensions apart says which is the
inner one; a dimension that an operand repeats (stride 0) tells nothing. NumPy decides otherwise
where operands differ, and where an operand is repeated.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_ndarray = np.ndarray


def as_iterated(data: Any, operands: Any) -> Any:
    """The result of an elementwise function, moved into PyTorch's layout if it has another one."""
    if data.__class__ is not _ndarray or data.ndim < 2 or not data.size:
        return data
    if data.flags.c_contiguous:
        for x in operands:
            if x.__class__ is _ndarray and x.ndim > 1 and not x.flags.c_contiguous:
                break
        else:
            return data
    order = iteration_order(data.shape, operands)
    moved = data.transpose(order)
    if moved.flags.c_contiguous:
        return data
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return np.ascontiguousarray(moved).transpose(inverse)


def iteration_order(shape: tuple[int, ...], operands: Any) -> list[int]:
    """The dimensions of the result, slowest first."""
    strides = [
        _strides(x, shape) for x in operands if x.__class__ is _ndarray and 0 < x.ndim <= len(shape)
    ]
    order = list(range(len(shape) - 1, -1, -1))  # fastest first
    for i in range(1, len(shape)):
        at = i
        for before in range(i - 1, -1, -1):
            verdict = _compared(order[before], order[at], strides, shape)
            if verdict > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif verdict < 0:
                break
    return order[::-1]


def _strides(x: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """An operand's strides once it is broadcast."""
    missing = len(shape) - x.ndim
    kept = [
        0 if extent == 1 and whole != 1 else stride
        for extent, stride, whole in zip(x.shape, x.strides, shape[missing:], strict=True)
    ]
    return (0,) * missing + tuple(kept)  # type: ignore[no-any-return]


def _compared(inner: int, outer: int, strides: Any, shape: tuple[int, ...]) -> int:
    """-1: the inner dimension is rightly so; 1: the two should change places; 0: cannot tell."""
    for steps in strides:
        a, b = steps[inner], steps[outer]
        if a == 0 or b == 0:
            continue
        if a != b:
            return -1 if a < b else 1
        if shape[inner] > shape[outer]:
            return 1
    return 0
