"""The layout of a result: which dimension steps fastest, as PyTorch decides it.

A rule takes a result and the operands it came from, and returns the result in the layout that a
record declares: that of an elementwise function (`as_iterated`), that of the first operand
(`as_first`), C order (`in_c_order`) or the operand's memory format (`as_channels`).

An elementwise function checks its operands in order, and the first that distinguishes two dimensions
decides which is the inner one; a dimension that an operand broadcasts (stride 0) decides nothing. NumPy
decides differently if operands differ, or if one is broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .strided import prefers

_ndarray = np.ndarray
LAID_OUT: set[type] = set()  # other array types whose elements lie in memory as NumPy's do


def _has_layout(x: Any) -> bool:
    return x.__class__ is _ndarray or is_laid_out(x)


def is_laid_out(x: Any) -> bool:
    """Whether an array of another type lies in main memory as NumPy's do."""
    return x.__class__ in LAID_OUT and getattr(x, "gpu_index", None) is None


def as_iterated(data: Any, operands: Any) -> Any:
    """The result of an elementwise function, converted to PyTorch's layout if it differs."""
    kind = data.__class__
    if (kind is not _ndarray and not is_laid_out(data)) or data.ndim < 2 or not data.size:
        return data
    if data.flags.c_contiguous:
        for x in operands:
            if x.__class__ is kind and x.ndim > 1 and not x.flags.c_contiguous:
                break
        else:
            return data
    return in_memory_order(data, iteration_order(data.shape, operands))


def as_first(data: Any, operands: Any) -> Any:
    """A dense result with its dimensions in the order of the first operand's."""
    return as_iterated(data, operands[:1])


def in_c_order(data: Any, operands: Any) -> Any:
    """A result in C order, whatever its operands' layouts."""
    if not _has_layout(data) or data.flags.c_contiguous:
        return data
    return data.copy()


def as_channels(data: Any, operands: Any) -> Any:
    """A result in C order, or channels-last if the first operand is."""
    if not _has_layout(data) or not data.size:
        return data
    order = _CHANNELS_LAST.get(data.ndim)
    x = operands[0]
    if order is None or not _has_layout(x) or not channels_come_last(x):
        return in_c_order(data, operands)
    return in_memory_order(data, order)


def each(rule: Any) -> Any:
    """The rule for every one of several results."""
    return lambda data, operands: tuple([rule(d, operands) for d in data])


def by_place(*rules: Any) -> Any:
    """A rule for each of several results; None leaves one unchanged."""

    def laid_out(data: Any, operands: Any) -> Any:
        found = [
            d if rule is None else rule(d, operands) for rule, d in zip(rules, data, strict=True)
        ]
        return tuple(found)

    return laid_out


_CHANNELS_LAST = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}


def channels_come_last(x: Any) -> bool:
    """Whether an array of images prefers the channels-last memory format."""
    order = _CHANNELS_LAST.get(x.ndim)
    return order is not None and x.strides[1] <= x.strides[-1] and prefers(x, order)


def in_memory_order(data: Any, order: Any) -> Any:
    """A result as a dense array with its dimensions in this order, slowest first."""
    moved = data.transpose(order)
    if moved.flags.c_contiguous:
        return data
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return np.copy(moved, order="C").transpose(inverse)


def iteration_order(shape: tuple[int, ...], operands: Any) -> list[int]:
    """The dimensions of the result, slowest first."""
    strides = [_strides(x, shape) for x in operands if _has_layout(x) and 0 < x.ndim <= len(shape)]
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
    """An operand's strides after broadcasting."""
    missing = len(shape) - x.ndim
    kept = [
        0 if extent == 1 and whole != 1 else stride
        for extent, stride, whole in zip(x.shape, x.strides, shape[missing:], strict=True)
    ]
    return (0,) * missing + tuple(kept)  # type: ignore[no-any-return]


def _compared(inner: int, outer: int, strides: Any, shape: tuple[int, ...]) -> int:
    """-1: the order is right; 1: the two should be swapped; 0: undecided."""
    for steps in strides:
        a, b = steps[inner], steps[outer]
        if a == 0 or b == 0:
            continue
        if a != b:
            return -1 if a < b else 1
        if shape[inner] > shape[outer]:
            return 1
    return 0
