"""`segment_reduce`: neighbouring elements along one dimension become their sum, mean, product or extreme.

Segments are given by their lengths or by where they begin and end (offsets). Each element knows its
segment by number; elements that belong to none (which only unchecked lengths, and offsets, can
leave) have the number after the last.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.checks import require_all, require_nonnegative
from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor
from ..declare.dims import wrap_dim
from ..declare.elementwise_calls import refuse, require_tensor
from ..declare.public import public
from ..declare.record import Op
from ..declare.samples import Sample, T
from ..declare.undefined_dtypes import no_kernel
from ..declare.wrong_argument import WrongArgument
from .index_arguments import own_copy, spoken

_STEPS = {
    "sum": np.add, "mean": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum,
}  # fmt: skip
_START = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf}


def _bounds(parts: Any, axis: int, offsets: bool) -> tuple[Any, Any]:
    """Where each segment begins and ends, a row of segments for each place of the dimensions before."""
    rows = np.reshape(
        np.astype(parts, np.int64), (math.prod(parts.shape[:axis]), parts.shape[axis])
    )
    if offsets:
        return rows[:, :-1], rows[:, 1:]
    ends = np.cumsum(rows, axis=1)
    return ends - rows, ends


def _numbers(parts: Any, size: int, axis: int, offsets: bool) -> Any:
    """The number of each element's segment; that after the last where it has none."""
    starts, ends = _bounds(parts, axis, offsets)
    rows, each = starts.shape
    total = rows * each
    plain = type(parts) is np.ndarray
    positions = np.arange(rows * size, like=parts)
    first = np.expand_dims(np.arange(rows, like=parts) * size, 1)
    starts, ends = np.reshape(starts + first, (-1,)), np.reshape(ends + first, (-1,))
    if plain:
        number = np.searchsorted(ends, positions, side="right")
    else:
        later = positions[:, None] >= ends
        number = np.sum(np.astype(later, np.int64), axis=1)
    if not total:
        return number
    covered = (number < total) & (positions >= starts[np.minimum(number, total - 1)])
    return np.where(covered, number, total)


# A record of its own, because rules that are differentiated see tensors: it looks at whole numbers.
numbers_op = Op("segment_numbers", _numbers, ("parts",), opmath=False, internal=True)


def _how_many(parts: Any, offsets: bool) -> int:
    rows, each = math.prod(parts.shape[:-1]), parts.shape[-1] - offsets
    return int(rows * each)


def _segment_reduce(
    x: Any, parts: Any, reduce: str, axis: int, offsets: bool, initial: float | None
) -> Any:
    number, total = _numbers(parts, x.shape[axis], axis, offsets), _how_many(parts, offsets)
    inner = math.prod(x.shape[axis + 1 :])
    start = _START[reduce] if initial is None else initial
    out = own_copy(np.full_like(x, start, shape=(total + 1, inner)), parts, x)
    _STEPS[reduce].at(out, number, np.reshape(x, (number.shape[0], inner)))
    out = out[:-1]
    if reduce == "mean":
        counts = np.astype(_counts(parts, axis, offsets), x.dtype)
        empty = np.nan if initial is None else initial
        filled = np.where(counts == 0, np.ones_like(counts), counts)
        out = np.where(counts == 0, np.full_like(out, empty, shape=()), out / filled)
    each = parts.shape[axis] - offsets
    return np.reshape(out, (*parts.shape[:axis], each, *x.shape[axis + 1 :]))


def _counts(parts: Any, axis: int, offsets: bool) -> Any:
    starts, ends = _bounds(parts, axis, offsets)
    return np.reshape(ends - starts, (-1, 1))


# --- how much each element counts for its result --------------------------------------------------


def _spread(v: Any, x: Any, parts: Any, axis: int, offsets: bool) -> Any:
    """What belongs to a segment, at each of its elements; 0 where there is no segment."""
    number = numbers_op(parts, size=x.shape[axis], axis=axis, offsets=offsets)
    total = _how_many(parts, offsets)
    if not total:
        return np.zeros_like(x)
    rows = np.reshape(v, (total, math.prod(x.shape[axis + 1 :])))[np.minimum(number, total - 1)]
    zero = np.zeros_like(rows, shape=())
    return np.reshape(np.where(np.expand_dims(number < total, 1), rows, zero), x.shape)


def _weights(
    x: Any, parts: Any, out: Any, reduce: str, axis: int, offsets: bool, initial: Any
) -> Any:
    where: dict[str, Any] = {"axis": axis, "offsets": offsets}

    def total(values: Any) -> Any:
        found = segment_reduce_op(values, parts, reduce="sum", initial=None, **where)
        return _spread(found, x, parts, **where)

    if reduce == "sum":
        return np.ones_like(x)
    if reduce == "mean":
        return 1 / np.maximum(total(np.ones_like(x)), 1)
    if reduce in ("max", "min"):  # elements equal to the result share it evenly
        equal = np.astype(x == _spread(out, x, parts, **where), x.dtype)
        return equal / np.maximum(total(equal), 1)
    # The product of the others: the result over the factor, unless that is 0.
    zero = x == 0
    only = zero & (total(np.astype(zero, x.dtype)) == 1)
    ones = np.ones_like(x)
    others = segment_reduce_op(
        np.where(only, ones, x), parts, reduce="prod", initial=initial, **where
    )
    divided = _spread(out, x, parts, **where) / np.where(zero, ones, x)
    return np.where(only, _spread(others, x, parts, **where), divided)


def _gradient(
    g: Any, x: Any, parts: Any, out: Any, reduce: str, axis: int, offsets: bool, initial: Any
) -> Any:
    weights = _weights(x, parts, out, reduce, axis, offsets, initial)
    return _spread(g, x, parts, axis, offsets) * weights


def _tangent(
    t: Any, x: Any, parts: Any, out: Any, reduce: str, axis: int, offsets: bool, initial: Any
) -> Any:
    moved = t * _weights(x, parts, out, reduce, axis, offsets, initial)
    return segment_reduce_op(moved, parts, reduce="sum", axis=axis, offsets=offsets, initial=None)


def _samples() -> list[Sample]:
    lengths = T(3, kind="falling", dtype="int64")  # 3, 2, 1
    some = T(3, low=0, high=3, dtype="int64", seed=1)
    offsets = T(4, kind="offsets", dtype="int64")  # 0, 1, 3, 6
    found = []
    for reduce in _STEPS:
        found += [
            Sample(T(6, 2), reduce, lengths=lengths),
            Sample(T(6), reduce, lengths=some, unsafe=True, initial=1.5),
            Sample(T(6, 2), reduce, offsets=offsets),
            Sample(
                T(2, 6, 2, layout="transposed"),
                reduce,
                lengths=T(2, 3, low=0, high=3, dtype="int32"),
                axis=1,
                unsafe=True,
            ),
            Sample(T(6, 2, kind="ties", low=0.0), reduce, lengths=lengths),
        ]
    return [*found, Sample(T(6, 0), "amax", lengths=lengths)]


segment_reduce_op = Op(
    "segment_reduce",
    _segment_reduce,
    ("x", "parts"),
    vjp={"x": _gradient},
    jvp={"x": _tangent},
    refuses=no_kernel("_segment_reduce_cpu", "bic"),
    opmath=False,
    samples=_samples,
)


@public(method=False, out=False)
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """Reduce segments of `data` along `axis`: their sum, mean, prod, max or min."""
    require_tensor("segment_reduce", data, "data")
    axis = wrap_dim(axis, data._data.ndim)
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if not isinstance(unsafe, bool):
        raise WrongArgument("segment_reduce(): argument 'unsafe' must be bool")
    reduce = {"amax": "max", "amin": "min"}.get(reduce, reduce)
    if reduce not in _STEPS:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    by_offsets = offsets is not None
    word = "offsets" if by_offsets else "lengths"
    parts: Any = offsets if by_offsets else lengths
    if axis != parts._data.ndim - 1:
        raise RuntimeError(
            f"segment_reduce(): Expected axis to be the last dimension of {word} but got {axis}."
        )
    if not by_offsets and not unsafe:
        _check_lengths(parts, data._data.shape[axis])
    if parts._data.dtype not in (np.int32, np.int64):
        raise NotImplementedError(
            f"\"_segment_reduce_{word}_cpu_kernel1\" not implemented for '{spoken(parts)}'"
        )
    refuse(segment_reduce_op, data._data.dtype)
    parameters = {"reduce": reduce, "axis": axis, "offsets": by_offsets, "initial": initial}
    result: Tensor = apply(segment_reduce_op, (data, parts), parameters)
    return result


def _check_lengths(lengths: Tensor, size: int) -> None:
    if not lengths._data.size:
        raise RuntimeError(
            "min(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument."
        )
    require_nonnegative(
        lengths._data, lambda _: RuntimeError("lengths contains negative value!"), waits=True
    )
    require_all(
        np.sum(lengths._data, axis=-1, keepdims=True),
        lambda x: x == size,
        lambda _: RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to "
            "data.size(lengths.dim()-1) when !unsafe."
        ),
        waits=True,
    )
