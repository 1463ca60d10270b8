"""NumPy's shape functions on a batch: applied to each example, whose dimensions come after
the batch's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def shift(axis: int) -> int:
    """An axis of one example as an axis of the batch; negative ones are the same."""
    return axis + 1 if axis >= 0 else axis


def _axes(axis: Any) -> Any:
    return tuple(shift(a) for a in axis) if isinstance(axis, (tuple, list)) else shift(axis)


def _transpose(x: Any, axes: Any = None) -> Any:
    rank = len(x.shape) - 1
    axes = tuple(range(rank))[::-1] if axes is None else tuple(a % rank for a in axes)
    return np.transpose(x, (0, *(a + 1 for a in axes)))


def _expand(x: Any, axis: Any) -> Any:
    axes = axis if isinstance(axis, tuple) else (axis,)
    rank = len(x.shape) - 1 + len(axes)
    return np.expand_dims(x, tuple(a % rank + 1 for a in axes))


def _squeeze(x: Any, axis: Any = None) -> Any:
    if axis is None:
        axis = tuple(i - 1 for i, n in enumerate(x.shape) if i and n == 1)
    return np.squeeze(x, _axes(axis))


def _reshape(x: Any, shape: Any, **kwargs: Any) -> Any:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if -1 in shape and 0 in x.shape:
        one = np.empty(x.shape[1:], np.bool_).reshape(shape)
        shape = one.shape
    return np.reshape(x, (x.shape[0], *shape), **kwargs)


def _broadcast(x: Any, shape: Any, **kwargs: Any) -> Any:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    missing = len(shape) - (len(x.shape) - 1)
    x = np.reshape(x, (x.shape[0], *(1,) * missing, *x.shape[1:]))
    return np.broadcast_to(x, (x.shape[0], *shape))


def _diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    found = np.diagonal(x, offset, shift(axis1), shift(axis2))
    if type(found) is np.ndarray:  # NumPy's result is read-only, though it shares memory
        found.setflags(write=x.flags.writeable)
    return found


def _roll(x: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return np.reshape(np.roll(np.reshape(x, (x.shape[0], -1)), shift, 1), x.shape)
    return np.roll(x, shift, _axes(axis))


def _flip(x: Any, axis: Any = None) -> Any:
    return np.flip(x, tuple(range(1, len(x.shape))) if axis is None else _axes(axis))


SHAPE_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "reshape": _reshape,
    "transpose": _transpose,
    "swapaxes": lambda x, a, b: np.swapaxes(x, shift(a), shift(b)),
    "moveaxis": lambda x, a, b: np.moveaxis(x, _axes(a), _axes(b)),
    "expand_dims": _expand,
    "squeeze": _squeeze,
    "broadcast_to": _broadcast,
    "diagonal": _diagonal,
    "roll": _roll,
    "flip": _flip,
}
