"""Saturated activations: entries of a sigmoid, tanh or softmax at its flat ends, and dead units of a
ReLU.

An entry is saturated if the slope is below a hundredth of the function's steepest; the report follows
from the values alone. For a ReLU, half of all entries are usually zero, so what is reported is a unit
that is zero for every example of the batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..record.values import Value
from .graph import OPERATION, Node

FLAT = 0.01  # of the steepest slope
TOLD = 0.5  # the fraction of entries, or rows, above which it is reported
_PRECISION = {"float64": 2**-52, "float32": 2**-23, "float16": 2**-10}
EXAMPLES = 8  # for which a unit has to be zero before it is called dead


def saturation(node: Node) -> str:
    """`is saturated: …` or `has dead units: …` if so; else empty."""
    value = node.value
    if node.kind != OPERATION or value is None or value.array is None or not value.array.size:
        return ""
    if value.array.dtype.kind != "f" or value.strange:
        return ""
    if node.operation in _CLIPS:
        return _clipped(value, node.operands[0] if node.operands else None)
    tell = _TOLD.get(node.operation)
    return tell(value) if tell is not None else ""


def _sigmoid(value: Value) -> str:
    if 4 * value.low * (1 - value.low) >= FLAT and 4 * value.high * (1 - value.high) >= FLAT:
        return ""  # the slope peaks only in between
    return _at_ends(4 * value.array * (1 - value.array) < FLAT)


def _tanh(value: Value) -> str:
    if 1 - max(abs(value.low), abs(value.high)) ** 2 >= FLAT:
        return ""
    return _at_ends(1 - value.array**2 < FLAT)


def _clipped(value: Value, given: Value | None) -> str:
    """Entries that a clip changed are flat."""
    if given is None or given.array is None or given.shape != value.shape:
        return ""
    return _at_ends(value.array != given.array)


def _hard_sigmoid(value: Value) -> str:
    return _at_ends((value.array <= 0) | (value.array >= 1))


def _at_ends(are_flat: Any) -> str:
    count = int(np.count_nonzero(are_flat))
    if count < TOLD * are_flat.size:
        return ""
    if are_flat.size == 1:
        return "is saturated: it is at its flat end"
    return f"is saturated: {_of(count, are_flat.size)} entries are at its flat ends"


def _softmax(value: Value) -> str:
    """Its slopes are p · (1 - p): flat if one entry of a row has nearly everything."""
    if 4 * value.high * (1 - value.high) >= FLAT:
        return ""
    axis = _summed_axis(value)
    if axis is None:
        return ""
    rows = np.max(4 * value.array * (1 - value.array), axis=axis) < FLAT
    count = int(np.count_nonzero(rows))
    if count < TOLD * rows.size:
        return ""
    return f"is saturated: in {_of(count, rows.size)} rows one entry has nearly all"


def _summed_axis(value: Value) -> int | None:
    """The last axis that sums to one: each entry is exact to a few units in its last place."""
    room = 4 * _PRECISION.get(value.dtype, 2**-7)
    for axis in reversed(range(value.array.ndim)):
        if value.array.shape[axis] == 1:
            continue
        if np.all(np.abs(np.sum(value.array, axis=axis, dtype=np.float64) - 1) <= room):
            return axis
    return None


def _relu(value: Value) -> str:
    array = value.array
    if value.low > 0:
        return ""
    if value.high <= 0:
        return f"is dead: {_of(array.size, array.size)} entries are 0"
    if array.ndim in (2, 4, 5):  # features last, or channels before an image's places
        unit = 1
        others = tuple(i for i in range(array.ndim) if i != unit)
        examples = array.size // array.shape[unit]
        count = int(np.count_nonzero(np.all(array <= 0, axis=others)))
        if count and examples >= EXAMPLES:
            kind = "channels" if array.ndim > 2 else "units"
            return f"has dead {kind}: {count:,} of {array.shape[unit]:,} are 0 for the whole batch"
    return ""


def _of(count: int, size: int) -> str:
    return f"all {size:,}" if count == size else f"{count:,} of {size:,}"


_TOLD = {
    "sigmoid": _sigmoid,
    "tanh": _tanh,
    "softmax": _softmax,
    "hardsigmoid": _hard_sigmoid,
    "relu": _relu,
}
_CLIPS = frozenset(("hardtanh", "relu6", "clamp"))
