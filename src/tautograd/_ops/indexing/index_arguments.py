"""Index tensors as arguments: their dtype and range checked with PyTorch's words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.checks import require_range
from ..._arrays.dtypes import LEGACY_NAMES
from ..._arrays.strided import is_distributed
from ..._tensor.tensor import Tensor

INDEX_DTYPES = (np.dtype(np.int64), np.dtype(np.int32))


def require_tensors(name: str, **arguments: Any) -> None:
    """Every argument, in order after the input, must be a tensor."""
    for position, (argument, value) in enumerate(arguments.items(), 1):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"{name}(): argument '{argument}' (position {position}) must be Tensor, not "
                f"{type(value).__name__}"
            )


def check_range(
    index: Any,
    dim: int,
    size: int,
    *,
    low: int = 0,
    error: type[Exception] = RuntimeError,
    message: str = "index {index} is out of bounds for dimension {dim} with size {size}",
) -> None:
    """Refuse indices outside [low, size)."""
    require_range(
        index, low, size, lambda found: error(message.format(index=found, dim=dim, size=size))
    )


def out_of_range(found: Any) -> IndexError:
    """What `index_select` and `embedding` say of an index outside."""
    return IndexError("index out of range in self")


def own_copy(x: Any, *others: Any) -> Any:
    """A dense copy of `x` to write the others into: one per example where they are a batch."""
    for other in others:
        if type(other) is not np.ndarray and hasattr(other, "dtype"):
            x = np.where(np.zeros_like(other, shape=(), dtype=np.bool_), x, x)
    if is_distributed(x):  # a part of a sharded array cannot be written through a view
        return x.copied_everywhere()
    return np.copy(x, order="C")


def taken(flat: Any, places: Any) -> Any:
    """The elements of a vector at these places, whichever of the two is of another array type."""
    if type(places) is np.ndarray:
        return np.take(flat, places)
    picked = np.take_along_axis(flat, np.reshape(places, (-1,)), 0)
    return np.reshape(picked, places.shape)


def spoken(tensor: Tensor) -> str:
    """A dtype as PyTorch's errors say it: `Float`."""
    return LEGACY_NAMES[tensor.dtype]


def extent(shape: tuple[int, ...], dim: int) -> int:
    """The size of a dimension; a 0-dim tensor has one of size 1."""
    return shape[dim] if shape else 1


def count(shape: tuple[int, ...]) -> int:
    return math.prod(shape)
