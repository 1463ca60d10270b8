"""`fractional_max_pool`: maxima of windows of one size that begin where random numbers say."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._autograd.apply import apply
from ...._tensor.tensor import Tensor
from ...declare.elementwise_calls import refuse, require_tensor
from ...declare.public import NN_FUNCTIONAL, public
from ...declare.record import Op
from ...declare.samples import Sample, T
from ...declare.signature_line import declared
from ...declare.undefined_dtypes import no_kernel
from ..convolution.windows import Ints, int_of, offsets
from ..line_maps import constant
from .adaptive import winning_positions
from .flat_positions import picked, placed


def _begins(u: Any, size: int, count: int, kernel: int) -> Any:
    """Where windows begin along one dimension, for a number u of [0, 1): `(batch, channels, count)`."""
    kind = u.dtype.type
    u = np.expand_dims(u, -1)
    last = np.astype(np.zeros_like(u), np.int64) + (size - kernel)
    if count <= 1:
        return last[..., :count]
    step = kind(size - kernel) / kind(count - 1)
    number = constant(np.arange(count - 1).astype(u.dtype), u)
    begins = np.floor((number + u) * step) - np.floor(u * step)
    return np.concatenate((np.astype(begins, np.int64), last), axis=-1)


def _pool(x: Any, samples: Any, kernel: Ints, count: Ints) -> Any:
    rank = len(kernel)
    lead = tuple(x.shape)[: x.ndim - rank]
    size = tuple(x.shape)[x.ndim - rank :]
    # For images the first random number belongs to the last dimension.
    order = (1, 0) if rank == 2 else (0, 1, 2)
    u = np.reshape(samples, (*lead, rank)) if x.ndim == rank + 1 else samples
    starts = []
    for d in range(rank):
        begins = _begins(u[..., order[d]], size[d], count[d], kernel[d])
        after = (1,) * (rank - 1 - d)
        starts.append(np.reshape(begins, (*lead, *(1,) * d, count[d], *after)))
    places, positions = [], []
    for offset in offsets(kernel):
        position = starts[0] + offset[0]
        for d in range(1, rank):
            position = position * size[d] + (starts[d] + offset[d])
        positions.append(position)
        places.append(picked(x, position, rank))
    if not places:  # the greatest of nothing, at the window's first place
        first = starts[0]
        for d in range(1, rank):
            first = first * size[d] + starts[d]
        return np.full_like(x, -np.inf, shape=first.shape), first
    best = places[0]
    for place in places[1:]:
        best = np.maximum(best, place)
    return best, winning_positions(best, places, positions)


def _record(rank: int) -> Op:
    shape = {2: (2, 2, 5, 6), 3: (1, 2, 5, 5, 4)}[rank]

    def image(*given: int) -> T:
        return T(*given, kind="distinct")

    def numbers(*given: int) -> T:
        return T(*given, rank, low=0.0, high=1.0, grad=False, seed=4)

    count = (3, 2, 2)[:rank]
    return Op(
        f"fractional_max_pool{rank}d",
        _pool,
        ("x", "samples"),
        node=f"FractionalMaxPool{rank}DBackward0",
        vjp={"x": lambda g, x_shape, out1, kernel: placed(g, out1, tuple(x_shape)[-len(kernel) :])},
        jvp={"x": lambda t, out1, kernel: (picked(t, out1, len(kernel)), None)},
        outputs=2,
        differentiable_outputs=(0,),
        opmath=False,
        public=f"nn.functional.fractional_max_pool{rank}d_with_indices",
        refuses=no_kernel(f"fractional_max_pool{rank}d_out_frame", "bic"),
        samples=lambda: [
            Sample(image(*shape), 2, count, _random_samples=numbers(*shape[:2])),
            Sample(image(*shape[1:]), 2, count, _random_samples=numbers(1, shape[1])),
            Sample(image(*shape), 2, None, (0.6,) * rank, _random_samples=numbers(*shape[:2])),
        ],
    )


FRACTIONAL_POOLS = {rank: _record(rank) for rank in (2, 3)}
_AXES = {2: ("height", "width"), 3: ("time", "height", "width")}


def _each(value: Any, rank: int) -> Any:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * rank


def _pooled(
    rank: int, input: Any, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Any
) -> Any:
    name = f"fractional_max_pool{rank}d"
    require_tensor(name, input)
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    shape = tuple(input._data.shape)
    size = shape[len(shape) - rank :]
    kernel = tuple([int_of(k) for k in _each(kernel_size, rank)])
    if len(size) < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-len(shape)}, {len(shape) - 1}], but "
            f"got {-rank})"
        )
    if output_size is None:
        if hasattr(output_ratio, "__len__") and len(output_ratio) != rank:
            raise ValueError(
                f"{name} requires output_ratio to either be a single Int or tuple of Ints."
            )
        count = tuple([int(n * r) for n, r in zip(size, _each(output_ratio, rank), strict=True)])
    else:
        count = tuple([int_of(n) for n in _each(output_size, rank)])
    called = name if rank == 2 else f"{name}_out"
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"{called}(): Expected {rank + 1}D or {rank + 2}D tensor, but got: {list(shape)}"
        )
    for d in range(len(shape) - rank - 1, len(shape)):
        if not shape[d]:
            raise RuntimeError(
                f"{called}(): Expected input to have non-zero size for non-batch dimensions, but "
                f"got{list(shape)} with dimension {d} being empty."
            )
    for what, given in (("kernel_size", kernel), ("output_size", count)):
        if len(given) != rank:
            ints = "Ints" if rank == 2 else "three Ints"
            raise RuntimeError(f"{name}: {what} must either be a single Int or tuple of {ints}")
    for axis, n, k, c in zip(_AXES[rank], size, kernel, count, strict=True):
        if c + k - 1 > n - (rank == 3):
            raise RuntimeError(
                f"{called}(): pool {axis} {k} too large relative to input {axis} {n}"
            )
    if samples is None:
        import tautograd

        batch = 1 if len(shape) == rank + 1 else shape[0]
        samples = tautograd.rand(batch, shape[len(shape) - rank - 1], rank, dtype=input.dtype)
    else:
        _check_samples(samples, input, rank)
    op = FRACTIONAL_POOLS[rank]
    refuse(op, input._data.dtype)
    return apply(op, (input, samples), {"kernel": kernel, "count": count})


def _check_samples(samples: Tensor, input: Tensor, rank: int) -> None:
    """Random numbers that are given: one for each dimension of each plane."""
    have, shape = tuple(samples._data.shape), tuple(input._data.shape)
    batch, channels = (1, shape[0]) if len(shape) == rank + 1 else shape[:2]
    if samples._data.dtype != input._data.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if len(have) != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {len(have)}")
    if have[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if have[1] != channels:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if have[2] != rank:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {rank}; got {have[2]}.")


def _given(
    rank: int, input: Any, kernel: Any, size: Any, ratio: Any, indices: bool, samples: Any
) -> Any:
    found = _pooled(rank, input, kernel, size, ratio, samples)
    return found if indices else found[0]


def _with_indices(
    rank: int, input: Any, kernel: Any, size: Any, ratio: Any, indices: bool, samples: Any
) -> Any:
    return _pooled(rank, input, kernel, size, ratio, samples)


for _rank in (2, 3):
    _name = f"fractional_max_pool{_rank}d"
    _taken = (
        f"Tensor input, int[{_rank}] kernel_size, int?[{_rank}] output_size=None, "
        f"float[{_rank}]? output_ratio=None, bool return_indices=False, Tensor? _random_samples=None"
    )
    for _line, _found, _doc in (
        (_name, _given, "The largest element of windows that begin at random places."),
        (
            f"{_name}_with_indices",
            _with_indices,
            f"`{_name}` and the flat position of every maximum.",
        ),
    ):
        public(namespace=NN_FUNCTIONAL, method=False, out=False)(
            declared(f"{_line}({_taken}) -> Any", _found, _rank, doc=_doc)
        )
