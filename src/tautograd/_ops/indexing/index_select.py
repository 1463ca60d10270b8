"""Slices picked and placed along a dimension by a vector of positions.

`index_select` reads, `index_add`, `index_copy` and `index_fill` write. Reading is the gradient of
adding, and the other way round.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.checks import require_range
from ..._arrays.formats import dense
from ..._arrays.sums import add_at
from ..._autograd.apply import apply
from ..._tensor.arguments import as_element, number
from ..._tensor.tensor import Tensor
from ..declare.dims import wrap_dim
from ..declare.public import public
from ..declare.record import LINEAR, Op
from ..declare.samples import Sample, T
from .gathering import as_vector
from .index_arguments import (
    INDEX_DTYPES,
    check_range,
    count,
    extent,
    out_of_range,
    own_copy,
    require_tensors,
    spoken,
    taken,
)


def index_samples(*shape: int, high: int, **options: Any) -> T:
    return T(*shape, low=0, high=high, dtype="int64", **options)


_I = index_samples


def at_dim(dim: int, index: Any) -> tuple[Any, ...]:
    """A key that applies `index` at `dim`."""
    return (*(slice(None),) * dim, index)


# --- reading -------------------------------------------------------------------------------------


def _index_select(x: Any, index: Any, dim: int) -> Any:
    if x.ndim == 0:
        return np.reshape(np.copy(x), ())
    along = as_vector(index)
    if type(along) is np.ndarray:
        return dense(np.take(x, along, axis=dim))
    wanted = (*x.shape[:dim], *along.shape, *x.shape[dim + 1 :])
    return np.reshape(taken(np.reshape(x, (-1,)), flat_positions(along, x.shape, dim)), wanted)


index_select_op = Op(
    "index_select",
    _index_select,
    ("x", "index"),
    vjp={
        "x": lambda g, index, dim, x_shape: index_add_op(
            np.zeros_like(g, shape=x_shape), index, g, dim=dim, alpha=1
        )
    },
    jvp=LINEAR,
    opmath=False,
    samples=lambda: [
        Sample(T(3, 4), 0, _I(5, high=3)),
        Sample(T(3, 4), -1, _I(2, high=4)),
        Sample(T(3, 4, layout="transposed"), 1, _I(2, high=4)),
        Sample(T(), 0, _I(1, high=1)),
        Sample(T(3), 0, _I(high=3)),
        Sample(T(2, 3), 1, _I(0, high=3)),
        Sample(T(0, 3), 1, _I(2, high=3)),
    ],
)


_OUT_OF_DATA = "index_select(): INDICES element is out of DATA bounds"


@public()
def index_select(input: Any, dim: Any, index: Any) -> Tensor:
    """The slices of `input` along `dim` at the positions in `index`."""
    require_tensors("index_select", input=input)
    require_tensors("index_select", index=index)
    shape = input._data.shape
    dim = wrap_dim(dim, len(shape), "index_select")
    if index._data.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index._data.dtype not in INDEX_DTYPES:
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if not shape and index._data.size != 1:
        raise RuntimeError(
            "index_select(): Index to scalar can have only 1 value, got "
            f"{index._data.size} value(s)"
        )
    if shape and not input._data.size and index._data.size:
        if not shape[dim]:
            raise RuntimeError("index_select(): self indexing axis dim should be positive")
        require_range(index._data, 0, shape[dim], lambda _: RuntimeError(_OUT_OF_DATA))
    require_range(index._data, 0, extent(shape, dim), out_of_range)
    result: Tensor = apply(index_select_op, (input, index), {"dim": dim})
    return result


# --- writing -------------------------------------------------------------------------------------


def flat_positions(index: Any, shape: tuple[int, ...], dim: int) -> Any:
    """Flat positions in a dense array of `shape` of the slices at `index` along `dim`."""
    inner, outer = count(shape[dim + 1 :]), count(shape[:dim])
    rows = np.arange(outer, like=index) * (shape[dim] * inner)
    total = np.reshape(rows, (-1, 1, 1)) + np.reshape(index * inner, (1, -1, 1))
    return np.reshape(total + np.arange(inner, like=index), (-1,))


def _index_add(x: Any, index: Any, source: Any, dim: int, alpha: Any) -> Any:
    flat = np.reshape(own_copy(x, index, source), (-1,))
    values = source if isinstance(alpha, int) and alpha == 1 else source * alpha
    add_at(flat, flat_positions(as_vector(index), x.shape or (1,), dim), np.reshape(values, (-1,)))
    return np.reshape(flat, x.shape)


def _index_copy(x: Any, index: Any, source: Any, dim: int) -> Any:
    flat = np.reshape(own_copy(x, index, source), (-1,))
    positions = flat_positions(as_vector(index), x.shape or (1,), dim)
    if count(positions.shape):
        np.put(flat, positions, np.reshape(source, (-1,)))
    return np.reshape(flat, x.shape)


def _index_fill(x: Any, index: Any, value: Any, dim: int) -> Any:
    vector = as_vector(x)
    # A mask along dim, so that the result keeps the order of dimensions in memory.
    mask = np.zeros_like(index, shape=(vector.shape[dim],), dtype=np.bool_)
    if count(index.shape):
        np.put(mask, as_vector(index), True)
    mask = np.reshape(mask, [-1 if d == dim else 1 for d in range(vector.ndim)])
    filled = np.where(mask, np.astype(value, x.dtype) if hasattr(value, "dtype") else value, vector)
    return np.reshape(np.astype(filled, x.dtype), x.shape)


def _source_gradient(g: Any, index: Any, dim: int, source_shape: Any, alpha: Any = 1) -> Any:
    picked = np.reshape(index_select_op(g, index, dim=dim), source_shape)
    return picked if isinstance(alpha, int) and alpha == 1 else picked * alpha


def _sum_where_filled(g: Any, index: Any, dim: int) -> Any:
    """Each filled place counts once, however often the index names it."""
    filled = index_fill_op(np.zeros_like(g), index, 1, dim=dim) != 0
    return np.sum(np.where(filled, g, np.zeros_like(g)))


index_add_op: Op = Op(
    "index_add",
    _index_add,
    ("x", "index", "source"),
    vjp={"x": lambda g: g, "source": _source_gradient},
    jvp=LINEAR,
    opmath=False,
    samples=lambda: [
        Sample(T(3, 4), 0, _I(5, high=3), T(5, 4)),
        Sample(T(3, 4), -1, _I(2, high=4), T(3, 2), alpha=2),
        Sample(T(3, 4, layout="transposed"), 1, _I(2, high=4), T(3, 2, layout="transposed")),
        Sample(T(), 0, _I(high=1), T()),
        Sample(T(2, 3), 1, _I(0, high=3), T(2, 0)),
    ],
)
index_copy_op = Op(
    "index_copy",
    _index_copy,
    ("x", "index", "source"),
    vjp={
        "x": lambda g, index, dim: index_fill_op(g, index, 0, dim=dim),
        "source": lambda g, index, dim, source_shape: _source_gradient(g, index, dim, source_shape),
    },
    jvp=LINEAR,
    opmath=False,
    samples=lambda: [
        Sample(T(3, 4), 0, _I(2, high=3, kind="distinct_index"), T(2, 4)),
        Sample(T(3, 4), -1, _I(1, high=4), T(3, 1)),
        Sample(T(3, 4, layout="transposed"), 1, _I(1, high=4), T(3, 1)),
        Sample(T(), 0, _I(1, high=1), T()),
        Sample(T(2, 3), 1, _I(0, high=3), T(2, 0)),
    ],
)
_FILLED = (
    lambda: [
        Sample(T(3, 4), 0, _I(2, high=3), 2),
        Sample(T(3, 4), -1, _I(2, high=4), 1.5),
        Sample(T(3, 4, layout="transposed"), 1, _I(2, high=4), 0),
        Sample(T(), 0, _I(1, high=1), 1),
        Sample(T(2, 3), 1, _I(0, high=3), 1),
    ],
    lambda: [Sample(T(3, 4), 0, _I(2, high=3), T()), Sample(T(), 0, _I(high=1), T())],
)
index_fill_op: Op = Op(
    "index_fill",
    _index_fill,
    ("x", "index", "value"),
    vjp={"x": lambda g, index, dim: index_fill_op(g, index, 0, dim=dim)},
    jvp=LINEAR,
    opmath=False,
    samples=_FILLED[0],
)
index_fill_tensor_op = Op(
    "index_fill_tensor",
    _index_fill,
    ("x", "index", "value"),
    vjp={
        "x": lambda g, index, dim: index_fill_op(g, index, 0, dim=dim),
        "value": lambda g, index, dim: _sum_where_filled(g, index, dim),
    },
    jvp=LINEAR,
    node="IndexFillBackward1",
    opmath=False,
    public="index_fill",
    samples=_FILLED[1],
)


@public(inplace=True)
def index_add(input: Any, dim: Any, index: Any, source: Any, *, alpha: Any = 1) -> Tensor:
    """Add `alpha` times the slices of `source` at the positions in `index`, which may repeat."""
    require_tensors("index_add", input=input)
    require_tensors("index_add", index=index, source=source)
    alpha = number("index_add", alpha, "alpha", 4)
    shape, given = input._data.shape, source._data.shape
    dim = wrap_dim(dim, len(shape), "index_add")
    length = index._data.size
    if index._data.dtype not in INDEX_DTYPES:
        raise RuntimeError(
            "index_add_(): Expected dtype int32/int64 for index but got: " + spoken(index)
        )
    if index._data.ndim > 1:
        raise IndexError(
            f"index_add_(): Index is supposed to be a vector, but got dim: {index._data.ndim} with "
            f"type: {spoken(index)} and size: {list(index._data.shape)}"
        )
    if input._data.dtype != source._data.dtype:
        raise RuntimeError(
            f"index_add_(): self ({spoken(input)}) and source ({spoken(source)}) must have the "
            "same "
            "scalar type"
        )
    if dim and dim >= len(given):
        raise RuntimeError(
            f"index_add_(): Indexing dim {dim} is out of bounds of the source tensor with dim "
            f"{len(given)}"
        )
    if length != (given[dim] if given else 1):
        raise RuntimeError(
            f"index_add_(): Number of indices ({length}) should be equal to source.size(dim): "
            f"({given[dim] if given else 1}), for dim: {dim}"
        )
    if not shape or not given:
        mismatch = bool(shape) != bool(given)
    else:
        mismatch = (*shape[:dim], *shape[dim + 1 :]) != (*given[:dim], *given[dim + 1 :])
    if mismatch:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            "Got "
            f"self.shape = {list(shape)} source.shape = {list(given)}"
        )
    check_range(index._data, dim, extent(shape, dim))
    parameters = {"dim": dim, "alpha": alpha if alpha == 1 else as_element(alpha, input.dtype)}
    result: Tensor = apply(index_add_op, (input, index, source), parameters)
    return result


@public(inplace=True)
def index_copy(input: Any, dim: Any, index: Any, source: Any) -> Tensor:
    """Put the slices of `source` at the positions in `index`."""
    require_tensors("index_copy", input=input)
    require_tensors("index_copy", index=index, source=source)
    shape, given = input._data.shape, source._data.shape
    dim = wrap_dim(dim, len(shape), "index_copy")
    if index._data.ndim > 1:
        raise IndexError(
            f"index_copy_(): Index should have dimension 1 or 0 (got {index._data.ndim})"
        )
    if shape and given and len(shape) != len(given):
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must "
            f"match. Source dimensionality ({len(given)}), destination dimensionality "
            f"({len(shape)})"
        )
    if index._data.dtype != np.int64:
        raise RuntimeError(
            f"index_copy_(): Expected a long tensor for index, but got {spoken(index)}"
        )
    if input._data.dtype != source._data.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{spoken(input)} and (source) {spoken(source)}"
        )
    mine = (*shape[:dim], *shape[dim + 1 :])
    theirs = (*given[:dim], *given[dim + 1 :])
    if mine != theirs:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            "slice "
            f"shape: {' '.join(map(str, mine))} at dimension {dim} and source slice shape: "
            f"{' '.join(map(str, theirs))} at dimension 0."
        )
    length = given[dim] if given else 1
    if index._data.size != length:
        raise IndexError(
            f"index_copy_(): Number of indices ({index._data.size}) should be equal to "
            f"source.size(dim) ({length})"
        )
    check_range(
        index._data, dim, extent(shape, dim), error=IndexError,
        message="index_copy_(): index {index} is out of bounds for dimension {dim} with size "
        "{size}",
    )  # fmt: skip
    result: Tensor = apply(index_copy_op, (input, index, source), {"dim": dim})
    return result


@public(inplace=True)
def index_fill(input: Any, dim: Any, index: Any, value: Any) -> Tensor:
    """Fill the slices at the positions in `index` with a number."""
    require_tensors("index_fill", input=input)
    require_tensors("index_fill", index=index)
    shape = input._data.shape
    dim = wrap_dim(dim, len(shape), "index_fill")
    if isinstance(value, Tensor) and value._data.ndim:
        raise RuntimeError(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value._data.ndim} dimension(s)."
        )
    if index._data.dtype != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index._data.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if isinstance(value, complex) and not input.dtype.is_complex:
        raise RuntimeError(
            "index_fill_(): Converting complex Scalar to non-complex type is not supported"
        )
    size = extent(shape, dim)
    check_range(index._data, dim, size, low=-size, error=IndexError)
    if isinstance(value, Tensor):
        result: Tensor = apply(index_fill_tensor_op, (input, index, value), {"dim": dim})
    else:
        element = as_element(number("index_fill", value, "value", 3), input.dtype)
        result = apply(index_fill_op, (input, index, element), {"dim": dim})
    return result
