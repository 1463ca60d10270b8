"""Elements taken and put by their position in the tensor as if it were flat."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.result_layout import as_first
from ..._autograd.apply import apply
from ..._autograd.lifted import counterpart
from ..._tensor.tensor import Tensor
from ..declare.public import public
from ..declare.record import LINEAR, Op
from ..declare.samples import Sample, T
from .index_arguments import (
    check_range,
    count,
    own_copy,
    require_tensors,
    spoken,
    taken,
)
from .index_select import at_dim, index_samples


def _put(x: Any, index: Any, source: Any, accumulate: bool) -> Any:
    flat = np.reshape(own_copy(x, index, source), (-1,))
    positions, values = np.reshape(index, (-1,)), np.reshape(source, (-1,))
    if accumulate:
        np.add.at(flat, positions, values)
    elif count(positions.shape):
        np.put(flat, positions, values)
    return np.reshape(flat, x.shape)


take_op = Op(
    "take",
    lambda x, index: np.reshape(taken(np.reshape(x, (-1,)), index), index.shape),
    ("x", "index"),
    vjp={
        "x": lambda g, index, x_shape: put_op(
            np.zeros_like(g, shape=x_shape), index, g, accumulate=True
        )
    },
    jvp=LINEAR,
    opmath=False,
    samples=lambda: [
        Sample(T(3, 4), index_samples(2, 3, high=12)),
        Sample(T(3, 4, layout="transposed"), T(5, low=-12, high=12, dtype="int64")),
        Sample(T(), index_samples(high=1)),
        Sample(T(2), index_samples(0, high=2)),
    ],
)
put_op: Op = Op(
    "put",
    _put,
    ("x", "index", "source"),
    layout=as_first,
    vjp={
        "x": lambda g, index, accumulate: (
            g
            if accumulate
            else put_op(g, index, np.zeros_like(g, shape=index.shape), accumulate=False)
        ),
        "source": lambda g, index, source_shape: np.reshape(take_op(g, index), source_shape),
    },
    jvp=LINEAR,
    opmath=False,
    public="Tensor.put",
    samples=lambda: [
        Sample(T(3, 4), T(2, 1, low=0, high=12, dtype="int64", kind="distinct_index"), T(2)),
        Sample(T(3, 4, layout="transposed"), index_samples(5, high=12), T(5), accumulate=True),
        Sample(T(), index_samples(high=1), T()),
    ],
)


def _check_positions(name: str, input: Tensor, index: Tensor, empty: str) -> None:
    if index._data.dtype != np.int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {spoken(index)}")
    size = input._data.size
    if not size and index._data.size:
        raise IndexError(f"{name}(): {empty}")
    check_range(
        index._data, 0, size, low=-size, error=IndexError,
        message="out of range: tried to access index {index} on a tensor of {size} elements.",
    )  # fmt: skip


@public()
def take(input: Any, index: Any) -> Tensor:
    """The elements at flat positions, in the shape of `index`."""
    require_tensors("take", input=input, index=index)
    _check_positions("take", input, index, "tried to take from an empty tensor")
    result: Tensor = apply(take_op, (input, index))
    return result


@public(inplace=True)
def put(input: Any, index: Any, source: Any, accumulate: bool = False) -> Tensor:
    """Put (or add) the elements of `source` at flat positions."""
    require_tensors("put", input=input, index=index, source=source)
    if input._data.dtype != source._data.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{spoken(input)} and source.dtype = {spoken(source)}"
        )
    _check_positions("put_", input, index, "Tried to put elements into an empty tensor")
    if index._data.size != source._data.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source._data.size}, index.numel() = {index._data.size}"
        )
    result: Tensor = apply(put_op, (input, index, source), {"accumulate": bool(accumulate)})
    return result


@counterpart(np.take)
def _(a: Tensor, indices: Tensor, axis: int | None = None, mode: str = "raise") -> Tensor:
    if axis is None:
        return take(a, indices)
    return a[at_dim(axis % a.ndim, indices)]
