"""`as_strided`: a view of storage by sizes, strides and offset, and what it means as mathematics.

For memory it is one array over the same storage. For gradients it is a linear map: each output
element shows one storage place, and each input element lies at one. So the map is an index,
worked out from the two geometries, and needs no memory: it holds for a gradient of any layout.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..._arrays.result_layout import as_first
from ..._arrays.strided import (
    has_memory,
    is_distributed,
    storage_of,
    storage_offset_of,
    strided,
    strides_of,
    with_steps_of,
)
from ..._arrays.sums import add_at
from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor
from ..declare.dims import require_int
from ..declare.elementwise_calls import require_tensor
from ..declare.public import public
from ..declare.record import LINEAR, Op
from ..declare.samples import Sample, T
from ..declare.shapes import ints
from ..nn.line_maps import constant

Ints = tuple[int, ...]


def _places(size: Ints, stride: Ints, offset: int) -> Any:
    """The storage place of every element, in index order."""
    places = np.full((), offset)
    for extent, step in zip(size, stride, strict=True):
        places = np.add.outer(places, np.arange(extent) * step)
    return places.reshape(-1)


@functools.lru_cache(maxsize=64)
def _shown(shape: Ints, strides: Ints, start: int, size: Ints, stride: Ints, offset: int) -> Any:
    """For every output element the number of the input element it shows, or -1 for none."""
    inputs, outputs = _places(shape, strides, start), _places(size, stride, offset)
    owner = np.full(max(inputs.max(initial=0), outputs.max(initial=0)) + 1, -1)
    owner[inputs] = np.arange(len(inputs))
    return owner[outputs]


@functools.lru_cache(maxsize=64)
def _sharing(shape: Ints, strides: Ints) -> Any:
    """How many input elements lie at each one's place; None where no two share one."""
    places = _places(shape, strides, 0)
    counts = np.bincount(places)[places] if len(places) else places
    return counts.reshape(shape) if (counts > 1).any() else None


def _as_strided(
    x: Any, size: Ints, stride: Ints, storage_offset: int, strides: Ints, start: int
) -> Any:
    if hasattr(x, "seen_through"):  # an array that is recorded
        return x.seen_through(
            lambda a: _as_strided(a, size, stride, storage_offset, strides, start)
        )
    if has_memory(x) and strides_of(x) == strides:
        step = x.dtype.itemsize
        return strided(x, size, [s * step for s in stride], (storage_offset - start) * step)
    shown = constant(_shown(tuple(x.shape), strides, start, size, stride, storage_offset), x)
    flat = np.reshape(x, (-1,))
    values = np.where(shown < 0, np.zeros_like(flat, shape=()), np.take(flat, np.maximum(shown, 0)))
    return np.reshape(values, size)


def _embed(
    x: Any, shape: Ints, size: Ints, stride: Ints, storage_offset: int, strides: Ints, start: int
) -> Any:
    """The adjoint: an input element gets the sum over the output elements that show its place."""
    shape = tuple(shape)
    shown = _shown(shape, strides, start, size, stride, storage_offset)
    count = int(np.prod(shape, dtype=np.int64))
    out = np.zeros_like(x, shape=(count + 1,))  # one more, for those that show nothing of the input
    add_at(out, shown, np.reshape(x, (-1,)))
    out = np.reshape(out[:count], shape)
    shared = _sharing(shape, strides)
    if shared is None:
        return out
    # Elements at one place are one and the same: each gets its share of the total.
    places = _places(shape, strides, 0)
    total = np.zeros_like(x, shape=(int(places.max()) + 1,))
    add_at(total, places, np.reshape(out, (-1,)))
    return np.reshape(np.take(total, places), shape) / shared


as_strided_backward_op = Op(
    "as_strided_backward",
    _embed,
    ("x",),
    vjp={
        "x": lambda g, size, stride, storage_offset, strides, start: as_strided_op(
            g,
            size=size,
            stride=stride,
            storage_offset=storage_offset,
            strides=strides,
            start=start,
        )
    },
    jvp=LINEAR,
)
as_strided_op: Op = Op(
    "as_strided",
    _as_strided,
    ("x",),
    vjp={
        "x": lambda g, x_shape, size, stride, storage_offset, strides, start: (
            np.zeros_like(g, shape=x_shape)
            if 0 in size
            else as_strided_backward_op(
                g,
                shape=x_shape,
                size=size,
                stride=stride,
                storage_offset=storage_offset,
                strides=strides,
                start=start,
            )
        )
    },
    jvp=LINEAR,
    is_view=True,
    samples=lambda: [
        Sample(T(3, 4), (2, 3), (4, 1)),
        Sample(T(6), (3, 2), (2, 1), 0),
        Sample(T(6), (4, 3), (1, 1)),
        Sample(T(3, 4), (2, 2), (1, 2), storage_offset=3),
        Sample(T(3, 4, layout="transposed"), (2, 2), (1, 3)),
        Sample(T(), (2, 2), (0, 0)),
        Sample(T(3), (0,), (1,)),
    ],
)


def as_strided_call(self: Tensor, size: Any, stride: Any, storage_offset: Any) -> dict[str, Any]:
    """The parameters of `as_strided`, checked against the storage."""
    data = self._data
    size = ints("as_strided", "size", (size,), {})
    stride = ints("as_strided", "stride", (stride,), {})
    start = storage_offset_of(data)
    offset = (
        start if storage_offset is None else require_int(storage_offset, "as_strided", "offset")
    )
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(step < 0 for step in stride):
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: "
            f"{list(stride)}"
        )
    if any(extent < 0 for extent in size):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)} and "
            f"strides={list(stride)}"
        )
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    check_storage(data, size, stride, offset)
    return {
        "size": size,
        "stride": stride,
        "storage_offset": offset,
        "strides": strides_of(data),
        "start": start,
    }


def way_between(base: Any, view: Any) -> dict[str, Any]:
    """The parameters of `as_strided` that lead from one array to another over the same memory."""
    return {
        "size": view.shape,
        "stride": strides_of(view),
        "storage_offset": storage_offset_of(view),
        "strides": strides_of(base),
        "start": storage_offset_of(base),
    }


def check_storage(array: Any, size: Ints, stride: Ints, offset: int) -> None:
    """Refuse a geometry that reaches beyond the memory behind an array."""
    if 0 in size:
        return
    if offset >= (1 << 63) // array.dtype.itemsize - 1:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}"
        )
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    needed = (last + 1) * array.dtype.itemsize
    there = array.size * array.dtype.itemsize
    if not is_distributed(array):
        there = getattr(storage_of(array), "nbytes", there)
    if needed > there:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and "
            f"itemsize {array.dtype.itemsize} requiring a storage size of {needed} are out of "
            f"bounds for storage of size {there}"
        )


@public(out=False)
def as_strided(input: Any, size: Any, stride: Any, storage_offset: Any = None) -> Tensor:
    """A view of the storage with the given sizes, strides and offset (in elements)."""
    require_tensor("as_strided", input)
    parameters = as_strided_call(input, size, stride, storage_offset)
    result: Tensor = as_strided_op.apply((input,), parameters)
    return result


# --- with a part replaced -------------------------------------------------------------------------


def _scatter(
    x: Any, src: Any, size: Ints, stride: Ints, storage_offset: int, strides: Ints, start: int
) -> Any:
    shown = _shown(tuple(x.shape), strides, start, size, stride, storage_offset)
    count = int(np.prod(x.shape, dtype=np.int64))
    source = np.full(count + 1, -1)
    source[shown] = np.arange(len(shown))
    source = source[:count].reshape(x.shape)
    if not len(shown):
        return np.copy(x)
    source = constant(source, x)
    taken = np.take(np.reshape(np.astype(src, x.dtype), (-1,)), np.maximum(source, 0))
    return np.where(source < 0, x, taken)


def _with_gaps(data: Any, operands: Any) -> Any:
    """Gaps in memory stay; only what overlaps itself becomes dense."""
    x = operands[0]
    overlaps = type(x) is not np.ndarray or 0 in x.strides
    return as_first(data, operands) if overlaps else with_steps_of(data, x)


as_strided_scatter_op: Op = Op(
    "as_strided_scatter",
    _scatter,
    ("x", "src"),
    layout=_with_gaps,
    vjp={
        "x": lambda g, src_shape, size, stride, storage_offset, strides, start: (
            as_strided_scatter_op(
                g,
                np.zeros_like(g, shape=src_shape),
                size=size,
                stride=stride,
                storage_offset=storage_offset,
                strides=strides,
                start=start,
            )
        ),
        "src": lambda g, size, stride, storage_offset, strides, start: as_strided_op(
            g,
            size=size,
            stride=stride,
            storage_offset=storage_offset,
            strides=strides,
            start=start,
        ),
    },
    jvp=LINEAR,
    opmath=False,
    samples=lambda: [
        Sample(T(3, 4), T(2, 2, seed=1), (2, 2), (1, 2)),
        Sample(T(3, 4), T(2, seed=1), (2,), (3,), 1),
        Sample(T(3, 4, layout="transposed"), T(2, 2, seed=1), (2, 2), (1, 2)),
    ],
)


@public(out=False)
def as_strided_scatter(
    input: Any, src: Any, size: Any, stride: Any, storage_offset: Any = None
) -> Tensor:
    """A copy of `input` with the elements that `as_strided` shows replaced by `src`."""
    require_tensor("as_strided_scatter", input)
    require_tensor("as_strided_scatter", src, "src", 2)
    # What overlaps itself is shown after it was copied.
    shown = input.detach().clone() if 0 in input._data.strides else input
    parameters = as_strided_call(shown, size, stride, storage_offset)
    same_size(src, parameters["size"])
    result: Tensor = apply(as_strided_scatter_op, (input, src), parameters)
    return result


def same_size(src: Tensor, shape: Ints) -> None:
    """A replacement must have the shape of the part it replaces."""
    if tuple(src._data.shape) != tuple(shape):
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src._data.shape)}, slice size = {list(shape)}"
        )
