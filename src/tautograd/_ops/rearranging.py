"""Copies with the elements in other places: clone, flip, roll, repeat and the like."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays.formats import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    empty_preserving,
    order_of,
    preserve_format,
)
from .._arrays.formats import memory_format as memory_format_type
from .._arrays.strided import lies_in, prefers
from .._autograd.apply import apply
from .._autograd.lifted import counterpart
from .._tensor.tensor import Tensor
from .elementwise import require_tensor
from .public import public
from .record import LINEAR, Op
from .samples import Sample, T


def copy_as(x: Any, memory_format: Any) -> Any:
    """A copy whose dimensions lie in memory as the format asks."""
    if memory_format is contiguous_format:
        return np.copy(x, order="C")
    if type(x) is not np.ndarray or (x.flags.c_contiguous and memory_format is preserve_format):
        return np.copy(x)
    out = empty_preserving(x, wanted=memory_format)
    np.copyto(out, x)
    return out


def suggested_format(array: Any) -> Any:
    """The memory format that an array's strides speak for."""
    for rank, wanted in ((4, channels_last), (5, channels_last_3d)):
        if array.ndim == rank and prefers(array, order_of(array.shape, wanted)):
            return wanted
    return contiguous_format


def is_contiguous_in(array: Any, wanted: Any) -> bool:
    """Whether an array is dense in a memory format."""
    flags = getattr(array, "flags", None)
    if flags is None:
        return True
    if wanted in (channels_last, channels_last_3d):
        rank = 4 if wanted is channels_last else 5
        return array.ndim == rank and lies_in(array, order_of(array.shape, wanted))
    found: bool = flags.c_contiguous
    return found


def require_format(name: str, value: Any) -> None:
    if not isinstance(value, memory_format_type):
        raise TypeError(
            f"{name}(): argument 'memory_format' must be torch.memory_format, not "
            f"{type(value).__name__}"
        )


clone_op = Op(
    "clone",
    copy_as,
    ("x",),
    vjp={"x": lambda g: g},
    jvp=LINEAR,
    opmath=False,
    samples=lambda: [
        Sample(T(2, 3)),
        Sample(T()),
        Sample(T(0, 2)),
        Sample(T(2, 3, layout="transposed")),
        Sample(T(2, 3, layout="strided")),
        Sample(T(2, 3, layout="expanded")),
    ],
)


@public(out=False)
def clone(input: Any, *, memory_format: Any = None) -> Tensor:
    """A copy that passes gradients back to the original."""
    require_tensor("clone", input)
    wanted = preserve_format if memory_format is None else memory_format
    require_format("clone", wanted)
    result: Tensor = apply(clone_op, (input,), {"memory_format": wanted})
    return result


@public(function=False, out=False)
def contiguous(self: Tensor, *, memory_format: Any = contiguous_format) -> Tensor:
    """This tensor if it lies in memory in order, else a copy that does."""
    if is_contiguous_in(self._data, memory_format):
        return self
    require_format("contiguous", memory_format)
    if memory_format is preserve_format:
        raise RuntimeError(
            "preserve memory format is unsupported by the contiguous operator"
        )
    return clone(self, memory_format=memory_format)


@counterpart(np.copy)
def _np_copy(x: Tensor, order: str = "K", subok: bool = False) -> Tensor:
    return clone(x, memory_format=contiguous_format if order == "C" else preserve_format)
