"""Indexing by arrays of integers and masks: `index` reads, `index_put` writes.

The index tensors of a call travel as one `Indices`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.batching.levels import bottom
from ..._arrays.formats import dense, iteration_order
from ..._arrays.result_layout import as_first
from ..._arrays.strided import has_memory, view_strides
from ..._autograd.apply import apply
from ..._autograd.effects import value_asked
from ..._autograd.modes import modes
from ..._autograd.views import bump, check_writable
from ..._tensor.tensor import Tensor
from ..declare.in_place_twins import write_into
from ..declare.memory_overlap import check_expanded, refuse_any_overlap
from ..declare.public import METHODS, public
from ..declare.record import LINEAR, Op
from ..declare.samples import Sample, T
from ..declare.shapes import require_all_tensors
from .index_arguments import count, own_copy, spoken, taken
from .indices import COVERED, Indices, prepare, refuse_batched_mask

# --- reading -------------------------------------------------------------------------------------


def _index(x: Any, indices: Indices) -> Any:
    given = [(d, a) for d, a in enumerate(indices.arrays) if a is not None and a is not COVERED]
    if any(not has_memory(a) for _, a in given):  # another array type picks by position
        refuse_batched_mask(indices)
        flat = taken(np.reshape(x, (-1,)), positions(indices, x.shape))
        return np.reshape(flat, indices.result_shape)
    if not hasattr(x, "strides"):
        return x[indices.key]
    ordered = x.flags.c_contiguous if isinstance(x, np.ndarray) else True
    for _, array in given:
        ordered = ordered and array.flags.c_contiguous
    if not indices.is_mask and count(indices.result_shape) == 0:
        found = np.empty_like(x, shape=indices.result_shape, order="C")
    elif len(given) == 1 and not indices.is_mask and ordered:
        found = np.take(x, given[0][1], axis=given[0][0])
    else:
        found = x[indices.key]
    if not isinstance(x, np.ndarray) or (ordered and all(n > 1 for n in found.shape)):
        return dense(found)
    return _laid_out(found, x, indices, given)


def _laid_out(found: Any, x: Any, indices: Indices, given: list[Any]) -> Any:
    """The result with its dimensions in memory as PyTorch's walk over the operands has them."""
    start, rank = indices.start, found.ndim
    sliced = [d for d, a in enumerate(indices.arrays) if a is None]
    block = rank - len(sliced)
    strides = [x.strides[d] for d in sliced]
    operands = [(*strides[:start], *(0,) * block, *strides[start:])]
    for _, array in given:
        shape, own = array.shape, array.strides
        if array.dtype == np.bool_:  # a mask counts as the vectors of its places
            shape, own = found.shape[start : start + 1], (np.dtype(np.int64).itemsize,)
        wide = (*(1,) * start, *shape, *(1,) * (rank - start - block))
        own = (*(0,) * (block - len(shape)), *own)
        steps = view_strides(shape, own, wide) if block == len(shape) else None
        if steps is None:
            steps = (*(0,) * start, *own, *(0,) * (rank - start - block))
        wide = (*(1,) * (rank - len(wide)), *wide)
        operands.append(
            tuple(
                0 if n == 1 and m != 1 else s
                for n, m, s in zip(wide, found.shape, steps, strict=True)
            )
        )
    order = iteration_order(found.shape, operands)
    in_order = order == list(range(rank - 1, -1, -1))
    step, spacing = found.dtype.itemsize, [0] * rank
    for d in order:
        spacing[d] = step
        step *= max(found.shape[d], 1) if in_order else found.shape[d]
    if tuple(spacing) == found.strides:
        return found
    room = np.empty(max(step, found.dtype.itemsize), np.uint8)
    out = np.ndarray(found.shape, found.dtype, room, 0, spacing)
    np.copyto(out, found)
    return out


index_op = Op(
    "index",
    _index,
    ("x", "indices"),
    vjp={
        "x": lambda g, indices, x_shape: index_put_op(
            np.zeros_like(g, shape=x_shape), indices, g, accumulate=True
        )
    },
    jvp=LINEAR,
    opmath=False,
    public="Tensor.__getitem__",
    samples=lambda: [
        Sample(T(3, 4), _i(2, high=3)),
        Sample(T(3, 4), (_i(2, high=3), _i(3, 1, high=4))),
        Sample(T(3, 4), (slice(None), _i(5, high=4))),
        Sample(T(2, 3, 4), (_i(2, high=2), slice(1, None), _i(2, high=4))),
        Sample(T(2, 3, 4), (0, slice(None), _i(2, high=4))),
        Sample(T(2, 3), T(2, 3, dtype="bool")),
        Sample(T(2, 3, 4), (slice(None), T(3, dtype="bool"), None)),
        Sample(T(2, 3, 4), (T(2, 3, dtype="bool"), _i(1, high=4))),
        Sample(T(2, 3, 4, layout="transposed"), (slice(None), _i(2, high=3))),
        Sample(
            T(2, 3, 4, layout="transposed"), (slice(None), _i(2, 2, high=3, layout="transposed"))
        ),
        Sample(T(2, 3), True),
        Sample(T(), False),
        Sample(T(2, 0), _i(3, high=2)),
        Sample(T(3), _i(0, high=3)),
    ],
)


def _i(*shape: int, high: int, **options: Any) -> T:
    return T(*shape, low=0, high=high, dtype="int64", **options)


# --- writing -------------------------------------------------------------------------------------


def positions(indices: Indices, shape: tuple[int, ...]) -> Any:
    """Flat positions, in a dense array of `shape`, of the elements that the indices reach."""
    start = indices.start
    given = [a for a in indices.arrays if a is not None]
    rank = len(indices.result_shape)
    block = rank - indices.whole
    total: Any = 0
    stride, at = 1, rank - 1
    for d in range(len(shape) - 1, -1, -1):
        array = indices.arrays[d]
        if array is None:
            if at == start + block - 1:
                at -= block
            steps = np.arange(shape[d], like=given[0]) * stride
            total = total + np.reshape(steps, [-1 if e == at else 1 for e in range(rank)])
            at -= 1
        else:
            forward = np.where(array < 0, array + shape[d], array) * stride
            tail = rank - start - block
            total = total + np.reshape(forward, (*array.shape, *(1,) * tail))
        stride *= shape[d]
    return np.reshape(np.broadcast_to(total, indices.result_shape), (-1,))


def write(out: Any, indices: Indices, values: Any, accumulate: bool) -> None:
    """Put (or add) values, broadcast to what the indices reach, into a dense array of our own."""
    if not indices.is_mask and not count(indices.result_shape):
        return
    plain = all(isinstance(a, np.ndarray) for a in (out, values, *indices.given))
    if plain and (indices.is_mask or not accumulate):
        key = indices.key  # the places of a mask are distinct, so adding needs no care for repeats
        out[key] = out[key] + values if accumulate else values
        return
    refuse_batched_mask(indices)
    indices = indices.coordinates(out.shape)
    if count(indices.result_shape):
        places = positions(indices, out.shape)
        flat = np.reshape(out, (-1,))
        values = np.reshape(np.broadcast_to(values, indices.result_shape), (-1,))
        if accumulate:
            np.add.at(flat, places, values)
        else:
            np.put(flat, places, values)


def _batched_mask(indices: Indices, rank: int) -> Any:
    """A mask that differs from example to example, shaped to choose among elements of the tensor.

    Possible where the values (of this rank) do not count the places of the mask.
    """
    mask: Any = None
    trailing = 0
    for array in indices.arrays:
        if array is None:
            trailing += 1
        elif array is COVERED:
            continue
        elif array.dtype != np.bool_ or isinstance(array, np.ndarray):
            return None
        else:
            mask, trailing = array, 0
    if rank > trailing:
        return None
    return np.reshape(mask, (*mask.shape, *(1,) * trailing))


def _values_gradient(g: Any, indices: Indices, values_shape: Any) -> Any:
    mask = _batched_mask(indices, len(values_shape))
    return index_op(g, indices) if mask is None else np.where(mask, g, np.zeros_like(g))


def _index_put(x: Any, indices: Indices, values: Any, accumulate: bool) -> Any:
    mask = _batched_mask(indices, values.ndim)
    if mask is not None:
        return np.where(mask, x + values if accumulate else values, x)
    out = own_copy(x, values, *indices.given)
    write(out, indices, values, accumulate)
    if not isinstance(x, np.ndarray) or not isinstance(out, np.ndarray) or x.flags.c_contiguous:
        return out
    kept = np.copy(x, order="K")
    np.copyto(kept, out)
    return kept


index_put_op: Op = Op(
    "index_put",
    _index_put,
    ("x", "indices", "values"),
    layout=as_first,
    vjp={
        "x": lambda g, indices, accumulate, values_dtype: (
            g
            if accumulate
            else index_put_op(g, indices, np.zeros_like(g, shape=()), accumulate=False)
        ),
        "values": _values_gradient,
    },
    jvp=LINEAR,
    opmath=False,
    samples=lambda: [
        Sample(T(3, 4), (_i(2, high=3, kind="distinct_index"),), T(2, 4)),
        Sample(T(3, 4), (_i(5, high=3),), T(4), accumulate=True),
        Sample(T(3, 4), (_i(2, 1, high=3), _i(1, high=4)), T(1), accumulate=True),
        Sample(T(2, 3), (T(2, 3, dtype="bool"),), T()),
        Sample(T(2, 3), (T(2, dtype="bool"),), T(3), accumulate=True),
        Sample(T(3, 4, layout="transposed"), (_i(1, high=3),), T(4)),
        Sample(T(3), (_i(0, high=3),), T()),
    ],
)


# --- of tensors -----------------------------------------------------------------------------------


def watch(result: Tensor, indices: Indices) -> Tensor:
    """Let the node notice if an index tensor is changed before backward."""
    node = result._node
    if node is not None and node.saved and node.packed is None:
        node.versions = [*node.versions, *((box, box[0], 1) for box in indices.boxes)]
    return result


def index_by(input: Tensor, given: list[Any]) -> Tensor:
    """`input` at index tensors."""
    if any(isinstance(one, Tensor) and one._data.dtype == np.bool_ for one in given):
        value_asked("`x[mask]`, whose shape depends on values,", "mask")
    indices = prepare(input, given)
    return watch(apply(index_op, (input, indices)), indices)


def _prepare_put(input: Tensor, given: list[Any], values: Tensor) -> Indices:
    indices = prepare(input, given)
    shape = indices.result_shape
    if _batched_mask(indices, values._data.ndim) is not None:
        _check_same_dtype(input, values)
        return indices
    if indices.is_mask:
        refuse_batched_mask(indices)
        shape = input._data[indices.key].shape if values._data.ndim else ()
    have = values._data.shape
    if len(have) > len(shape) or any(
        n not in (1, m) for n, m in zip(reversed(have), reversed(shape), strict=False)
    ):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(have)} cannot be broadcast to indexing "
            f"result of shape {list(shape)}"
        )
    _check_same_dtype(input, values)
    return indices


def _check_same_dtype(input: Tensor, values: Tensor) -> None:
    if input._data.dtype != values._data.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {spoken(input)} for "
            f"the destination and {spoken(values)} for the source."
        )


def is_switch(given: list[Any], values: Tensor) -> bool:
    """Whether one value goes everywhere or nowhere: the only index is a mask without dimensions."""
    if len(given) != 1 or values._data.size != 1:
        return False
    index = given[0]
    return isinstance(index, Tensor) and index._data.dtype == np.bool_ and not index._data.ndim


def _as_one_value(input: Tensor, given: list[Any], values: Tensor, accumulate: bool) -> Tensor:
    """One value that fills a mask is a number: of any dtype, as for `masked_fill`."""
    if accumulate or values._data.size != 1 or values._data.dtype == input._data.dtype:
        return values
    masks = [t for t in given if t is not None]
    if len(masks) == 1 and masks[0]._data.dtype in (np.bool_, np.uint8):
        return values.to(input.dtype)
    return values


def put_at(input: Tensor, given: list[Any], values: Tensor, accumulate: bool = False) -> Tensor:
    """Write values at index tensors, in place."""
    check_writable(input)
    if not accumulate and is_switch(given, values):
        masked: Tensor = METHODS["masked_fill_"](input, given[0], values.reshape(()))
        return masked
    values = _as_one_value(input, given, values, accumulate)
    indices = _prepare_put(input, given, values)
    recorded = modes.special or (modes.grad and (input.requires_grad or values.requires_grad))
    if recorded:
        result = apply(index_put_op, (input, indices, values), {"accumulate": accumulate})
        return write_into(input, watch(result, indices), "index_put")
    source = values._data
    if np.may_share_memory(bottom(input._data), bottom(source)):
        source = np.copy(source)
    if not indices.is_mask and not count(indices.result_shape):
        pass
    elif not accumulate:
        input._data[indices.key] = source
    else:
        np.copyto(input._data, _index_put(input._data, indices, source, True))
    bump(input, 3)
    return input


def _tensors(indices: Any) -> list[Any]:
    if not isinstance(indices, (tuple, list)):
        raise TypeError(
            "index_put(): argument 'indices' (position 1) must be tuple of Tensors, not "
            f"{type(indices).__name__}"
        )
    require_all_tensors(indices)
    return list(indices)


@public(out=False)
def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    """`input` with `values` put (or added) where the index tensors point."""
    given = _tensors(indices)
    if not accumulate and is_switch(given, values):
        masked: Tensor = METHODS["masked_fill"](input, given[0], values.reshape(()))
        return masked
    values = _as_one_value(input, given, values, accumulate)
    prepared = _prepare_put(input, given, values)
    result = apply(index_put_op, (input, prepared, values), {"accumulate": bool(accumulate)})
    return watch(result, prepared)


@public("index_put_", out=False)
def index_put_inplace(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    """In-place version of `index_put`."""
    given = _tensors(indices)
    refuse_any_overlap(input, values, *given)
    if 0 in input._data.strides:
        check_expanded("index_put", input._data)
    return put_at(input, given, values, bool(accumulate))
