"""`max_unpool`: maxima put back where they were, zeros everywhere else."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...._arrays.checks import require_range
from ...._arrays.dtypes import LEGACY_NAMES
from ...._arrays.result_layout import as_channels, in_c_order
from ...._autograd.apply import apply
from ...._tensor.tensor import make
from ...declare.elementwise_calls import refuse, require_tensor
from ...declare.public import NN_FUNCTIONAL, public
from ...declare.record import Op
from ...declare.samples import Sample, T
from ...declare.signature_line import declared
from ...declare.undefined_dtypes import no_kernel
from ..convolution.windows import Ints, int_of
from .flat_positions import flattened, picked


def _unpool(x: Any, indices: Any, size: Ints) -> Any:
    rank = len(size)
    lead = tuple(x.shape)[: x.ndim - rank]
    if type(x) is not np.ndarray or type(indices) is not np.ndarray:
        # What is written into must be of a kind with both.
        x = np.where(np.equal(indices, indices), x, np.zeros_like(x, shape=()))
    flat = np.zeros_like(x, shape=(*lead, math.prod(size)), order="C")
    if x.size:
        np.put_along_axis(flat, flattened(indices, rank), flattened(x, rank), axis=len(lead))
    return np.reshape(flat, (*lead, *size))


def _record(rank: int) -> Op:
    shape = {2: (2, 2, 2, 3), 3: (1, 2, 2, 2, 2)}[rank]
    size = {2: (4, 6), 3: (4, 4, 4)}[rank]

    def positions() -> T:
        return T(*shape, low=0, high=math.prod(size), dtype="int64", kind="distinct_index")

    return Op(
        f"max_unpool{rank}d",
        _unpool,
        ("x", "indices"),
        layout=as_channels if rank == 2 else in_c_order,
        node=f"MaxUnpool{rank}DBackward0",
        vjp={"x": lambda g, indices, size: picked(g, indices, len(size))},
        jvp={"x": lambda t, indices, size: MAX_UNPOOLS[len(size)](t, indices, size=size)},
        opmath=False,
        public=f"nn.functional.max_unpool{rank}d",
        refuses=no_kernel(f"max_unpool{rank}d", "bic"),
        samples=lambda: [
            Sample(T(*shape), positions(), 2),
            Sample(T(*shape), positions(), 2, output_size=tuple([n + 1 for n in size])),
        ],
    )


MAX_UNPOOLS: dict[int, Op] = {rank: _record(rank) for rank in (2, 3)}


def _each(value: Any, rank: int) -> Ints:
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,) * rank
    return tuple([int_of(v) for v in given])


def _output_size(shape: Ints, kernel: Ints, stride: Ints, padding: Ints, output_size: Any) -> Ints:
    """As many extents as the kernel has, whatever is beyond them."""
    rank = len(kernel)
    if min(len(shape), len(stride), len(padding)) < rank:
        raise IndexError(
            f"tuple index out of range: a kernel of {rank} sizes needs as many strides, paddings and "
            f"dimensions, but there are {len(stride)}, {len(padding)} and {len(shape)}"
        )
    inner = shape[len(shape) - rank :]
    usual = tuple(
        [
            (n - 1) * s + k - 2 * p
            for n, k, s, p in zip(inner, kernel, stride, padding, strict=False)
        ]
    )
    if output_size is None:
        return usual
    given = tuple(output_size)
    if len(given) == rank + 2:
        given = given[2:]
    if len(given) != rank:
        raise ValueError(
            f"output_size should be a sequence containing {rank} or {rank + 2} elements, but it "
            f"has a length of '{len(given)}'"
        )
    for d in range(rank):
        low, high = usual[d] - stride[d], usual[d] + stride[d]
        if not low < given[d] < high:
            raise ValueError(
                f'invalid output_size "{output_size}" (dim {d} must be between {low} and {high})'
            )
    return tuple([int_of(v) for v in given])


def _check(input: Any, indices: Any, size: Ints, rank: int) -> None:
    name = f"max_unpooling{rank}d"
    require_tensor(name, input)
    require_tensor(name, indices, "indices", 2)
    x, index = input._data, indices._data
    if index.dtype != np.int64:
        raise RuntimeError(
            f"elements in indices should be type int64 but got: {LEGACY_NAMES[indices.dtype]}"
        )
    if x.ndim not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"Input to {name} should be a {rank + 1}d or {rank + 2}d Tensor, but got a tensor with "
            f"{x.ndim} dimensions."
        )
    if tuple(index.shape) != tuple(x.shape):
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({list(x.shape)}) but got indices tensor with shape: {list(index.shape)}"
        )
    count = math.prod(size)
    if count:
        require_range(
            index,
            0,
            count,
            lambda worst: RuntimeError(
                f"Found an invalid max index: {worst} (output volumes are of size "
                f"{'x'.join(map(str, size))})"
            ),
        )


def _unpooled(
    rank: int,
    input: Any,
    indices: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    output_size: Any,
) -> Any:
    kernel = _each(kernel_size, rank)
    step = kernel if stride is None else _each(stride, rank)
    shape = tuple(input.shape)
    flat_rank = max(rank, 2)
    if len(shape) < rank:
        _check(input, indices, (), flat_rank)
    size = _output_size(shape, kernel, step, _each(padding, rank), output_size)
    for d, extent in enumerate(size):
        if extent < 0:
            raise ValueError(
                "max_unpooling: output_size must contain non-negative spatial dimensions, but got "
                f"output_size[{d}]={extent}"
            )
    if len(size) != rank:
        raise RuntimeError(
            f"There should be exactly {rank} elements in output_size, but got {len(size)} elements."
        )
    if rank == 1:
        input, indices, size = input.unsqueeze(-1), indices.unsqueeze(-1), (*size, 1)
    _check(input, indices, size, flat_rank)
    refuse(MAX_UNPOOLS[flat_rank], input._data.dtype)
    if 0 in size:
        lead = input._data.shape[: input._data.ndim - flat_rank]
        result = make(np.zeros_like(input._data, shape=(*lead, *size)))
    else:
        result = apply(MAX_UNPOOLS[flat_rank], (input, indices), {"size": size})
    return result.squeeze(-1) if rank == 1 else result


for _rank, _what in ((1, "A line"), (2, "An image"), (3, "A volume")):
    _ints = f"int[{_rank}]"
    public(namespace=NN_FUNCTIONAL, method=False, out=False)(
        declared(
            f"max_unpool{_rank}d(Tensor input, Tensor indices, {_ints} kernel_size, "
            f"{_ints}? stride=None, {_ints} padding=0, int[]? output_size=None) -> Tensor",
            _unpooled,
            _rank,
            doc=f"{_what} of zeros with maxima put back where `max_pool{_rank}d` found them.",
        )
    )
