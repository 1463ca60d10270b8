"""Elements picked and placed along one dimension: `gather`, `scatter`, `scatter_add`.

`gather` reads `out[i][j] = x[index[i][j]][j]` (for dim 0); `scatter` writes the other way, and each
is the gradient of the other. Along the remaining dimensions the index may be shorter than the
tensor, so both work on the part of the tensor that the index covers (`cover`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.dtypes import LEGACY_NAMES
from ..._arrays.formats import dense
from ..._arrays.sums import add_at
from ..._autograd.apply import apply
from ..._autograd.lifted import counterpart
from ..._tensor.arguments import as_element, number
from ..._tensor.tensor import Tensor, make
from ..declare.dims import wrap_dim
from ..declare.public import public
from ..declare.record import LINEAR, Op
from ..declare.samples import Sample, T
from .index_arguments import (
    INDEX_DTYPES,
    check_range,
    count,
    extent,
    own_copy,
    require_tensors,
)


def cover(x: Any, shape: tuple[int, ...], dim: int) -> Any:
    """The part of `x` that an index of this shape reaches: all of `dim`, the start of others."""
    key = tuple([slice(None) if d == dim else slice(0, n) for d, n in enumerate(shape)])
    return x[key]


def as_vector(x: Any) -> Any:
    """A 0-dim array as a vector of one."""
    return np.reshape(x, (1,)) if x.ndim == 0 else x


def flat_index(index: Any, shape: tuple[int, ...], dim: int) -> Any:
    """Positions in a dense array of `shape` that an index along `dim` means, flattened."""
    strides = [1] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * shape[d + 1]
    total = index * strides[dim]
    for d, n in enumerate(index.shape):
        if d != dim:
            steps = np.arange(n, like=index) * strides[d]
            total = total + np.reshape(steps, [-1 if e == d else 1 for e in range(len(shape))])
    return np.reshape(total, (-1,))


# --- gather --------------------------------------------------------------------------------------


def _gather(x: Any, index: Any, dim: int) -> Any:
    if count(index.shape) == 0:
        return np.empty_like(x, shape=index.shape, order="C")
    along = as_vector(index)
    picked = np.take_along_axis(cover(as_vector(x), along.shape, dim), along, dim)
    return np.reshape(dense(picked), index.shape)


gather_op = Op(
    "gather",
    _gather,
    ("x", "index"),
    vjp={
        "x": lambda g, index, dim, x_shape: scatter_add_op(
            np.zeros_like(g, shape=x_shape), index, g, dim=dim
        )
    },
    jvp=LINEAR,
    opmath=False,
    samples=lambda: [
        Sample(T(3, 4), 0, _index(2, 4, high=3)),
        Sample(T(3, 4), 1, _index(3, 6, high=4)),
        Sample(T(3, 4, layout="transposed"), -1, _index(2, 2, high=4)),
        Sample(T(), 0, _index(high=1)),
        Sample(T(3), 0, _index(high=3)),
        Sample(T(2, 3), 1, _index(2, 0, high=3)),
        Sample(T(2, 3, 2), 1, _index(2, 5, 1, high=3, layout="transposed")),
    ],
)


def _index(*shape: int, high: int, **options: Any) -> T:
    return T(*shape, low=0, high=high, dtype="int64", **options)


def _check_index(name: str, index: Tensor) -> None:
    if index._data.dtype not in INDEX_DTYPES and index._data.size:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")


@public()
def gather(input: Any, dim: Any, index: Any, *, sparse_grad: bool = False) -> Tensor:
    """Pick elements along `dim`: `out[i][j] = input[index[i][j]][j]` for dim 0."""
    require_tensors("gather", input=input)
    require_tensors("gather", index=index)
    return _gathered(input, dim, index)


def _gathered(input: Tensor, dim: Any, index: Tensor, low: int = 0) -> Tensor:
    shape, given = input._data.shape, index._data.shape
    dim = wrap_dim(dim, len(shape), "gather")
    _check_index("gather", index)
    if count(given):
        if max(len(shape), 1) != max(len(given), 1):
            raise RuntimeError(
                "Index tensor must have the same number of dimensions as input tensor"
            )
        for d, n in enumerate(given):
            if d != dim and n > extent(shape, d):
                raise RuntimeError(
                    f"Size does not match at dimension {d} expected index {list(given)} to be no "
                    f"larger than self {list(shape)} apart from dimension {dim}"
                )
        check_range(index._data, dim, extent(shape, dim), low=low)
    result: Tensor = apply(gather_op, (input, index), {"dim": dim})
    return result


@public()
def take_along_dim(input: Any, indices: Any, dim: Any = None) -> Tensor:
    """Pick elements along `dim` with broadcasting; by flat position where `dim` is None."""
    require_tensors("take_along_dim", input=input, indices=indices)
    if dim is None:
        return _gathered(input.reshape(-1), 0, indices.reshape(-1))  # here none is counted round
    shape, given = input._data.shape, indices._data.shape
    if len(shape) != len(given):
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            "but "
            f"got {len(shape)} dimensions for input, and {len(given)} dimensions for indices"
        )
    dim = wrap_dim(dim, len(shape), "take_along_dim")
    if not shape:
        return _gathered(input, 0, _wrapped(indices, 1))
    outer = _broadcast_except(shape, given, dim)
    wide = input.expand(_with(outer, dim, shape[dim]))
    return _gathered(wide, dim, _wrapped(indices, shape[dim]).expand(_with(outer, dim, given[dim])))


def _wrapped(indices: Tensor, size: int) -> Tensor:
    """Indices counted round the dimension, as PyTorch takes them here: -1 is the last."""
    if indices._data.dtype != np.int64:
        raise RuntimeError(
            "torch.take_along_dim(): dtype of indices should be Long but got "
            f"{LEGACY_NAMES[indices.dtype]}"
        )
    return make(np.remainder(indices._data, size)) if size else indices


def _broadcast_except(a: tuple[int, ...], b: tuple[int, ...], dim: int) -> tuple[int, ...]:
    from ..declare.elementwise_calls import check_broadcast

    check_broadcast(_with(a, dim, 1), _with(b, dim, 1))
    return tuple([n if m == 1 else m for m, n in zip(a, b, strict=True)])


def _with(shape: tuple[int, ...], dim: int, size: int) -> tuple[int, ...]:
    return (*shape[:dim], size, *shape[dim + 1 :])


@counterpart(np.take_along_axis)
def _(arr: Tensor, indices: Tensor, axis: int = -1) -> Tensor:
    return take_along_dim(arr, indices, axis)


# --- scatter -------------------------------------------------------------------------------------


def _scatter(x: Any, index: Any, src: Any, dim: int) -> Any:
    out = own_copy(as_vector(x), index, src)
    if count(index.shape):
        along = as_vector(index)
        values = as_vector(src)[tuple([slice(0, n) for n in along.shape])]
        np.put_along_axis(cover(out, along.shape, dim), along, values, dim)
    return np.reshape(out, x.shape)


def _scatter_value(x: Any, index: Any, dim: int, value: Any) -> Any:
    return _scatter(x, index, np.full_like(x, value, shape=index.shape), dim)


def _scatter_add(x: Any, index: Any, src: Any, dim: int) -> Any:
    out = own_copy(x, index, src)
    if count(index.shape) == 0:
        return out
    along = as_vector(index)
    values = as_vector(src)[tuple([slice(0, n) for n in along.shape])]
    flat = np.reshape(out, (-1,))
    add_at(flat, flat_index(along, x.shape or (1,), dim), np.reshape(values, (-1,)))
    return np.reshape(flat, x.shape)


def _from_source(g: Any, index: Any, dim: int, src_shape: tuple[int, ...]) -> Any:
    """g at the places written to; zero for the part of the source that the index does not cover."""
    return grown_to(gather_op(g, index, dim=dim), src_shape)


def grown_to(x: Any, shape: tuple[int, ...]) -> Any:
    """`x` at the start of an array of zeros of this shape."""
    for d, n in enumerate(shape[: x.ndim]):
        if x.shape[d] != n:
            rest = (*x.shape[:d], n - x.shape[d], *x.shape[d + 1 :])
            x = np.concatenate([x, np.zeros_like(x, shape=rest)], axis=d)
    return x


scatter_op = Op(
    "scatter",
    _scatter,
    ("x", "index", "src"),
    vjp={
        "x": lambda g, index, dim: scatter_value_op(g, index, dim=dim, value=0),
        "src": _from_source,
    },
    jvp=LINEAR,
    opmath=False,
    samples=lambda: [
        Sample(T(3, 4), 0, _index(1, 4, high=3), T(1, 4)),
        Sample(T(3, 4), 1, _index(2, 1, high=4), T(3, 2, grad=False)),
        Sample(T(3, 4, layout="transposed"), -1, _index(3, 1, high=4), T(3, 1)),
        Sample(T(), 0, _index(high=1), T()),
        Sample(T(3), 0, _index(high=3), T()),
        Sample(T(2, 3), 1, _index(2, 0, high=3), T(2, 3, grad=False)),
    ],
)
scatter_value_op: Op = Op(
    "scatter_value",
    _scatter_value,
    ("x", "index"),
    vjp={"x": lambda g, index, dim: scatter_value_op(g, index, dim=dim, value=0)},
    jvp={"x": lambda t, index, dim: scatter_value_op(t, index, dim=dim, value=0)},
    opmath=False,
    node="ScatterBackward1",
    public="scatter",
    samples=lambda: [
        Sample(T(3, 4), 0, _index(2, 4, high=3), 2),
        Sample(T(3, 4), -1, _index(3, 3, high=4), 1.5),
        Sample(T(), 0, _index(high=1), 1),
    ],
)
scatter_add_op: Op = Op(
    "scatter_add",
    _scatter_add,
    ("x", "index", "src"),
    vjp={"x": lambda g: g, "src": _from_source},
    jvp=LINEAR,
    opmath=False,
    samples=lambda: [
        Sample(T(3, 4), 0, _index(5, 4, high=3), T(5, 4)),
        Sample(T(3, 4), 1, _index(2, 6, high=4), T(3, 7, grad=False)),
        Sample(
            T(3, 4, layout="transposed"), -1, _index(3, 4, high=4), T(3, 4, layout="transposed")
        ),
        Sample(T(), 0, _index(high=1), T()),
        Sample(T(2, 3), 1, _index(2, 0, high=3), T(2, 3, grad=False)),
    ],
)


def check_scatter(name: str, input: Tensor, dim: int, index: Tensor, src: Any) -> None:
    """What all scattering functions ask of their index and source."""
    shape, given = input._data.shape, index._data.shape
    if index._data.dtype not in INDEX_DTYPES and index._data.size:
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    if isinstance(src, Tensor) and src._data.dtype != input._data.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not count(given):
        return
    if max(len(shape), 1) != max(len(given), 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    larger = any(d != dim and n > extent(shape, d) for d, n in enumerate(given))
    if isinstance(src, Tensor):
        source = src._data.shape
        if max(len(source), 1) != max(len(given), 1):
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
        if larger or any(n > extent(source, d) for d, n in enumerate(given)):
            raise RuntimeError(
                f"Expected index {list(given)} to be no larger than self {list(shape)} apart from "
                f"dimension {dim} and to be no larger size than src {list(source)}"
            )
    elif larger:
        raise RuntimeError(
            f"Expected index {list(given)} to be no larger than self {list(shape)} apart from "
            f"dimension {dim}"
        )
    check_range(index._data, dim, extent(shape, dim))


@public(inplace=True)
def scatter(
    input: Any, dim: Any, index: Any, src: Any = None, *, value: Any = None, reduce: Any = None
) -> Tensor:
    """Write `src` (a tensor or a number) at the places `index` names along `dim`."""
    require_tensors("scatter", input=input)
    require_tensors("scatter", index=index)
    src = value if src is None else src
    if not isinstance(src, Tensor):
        src = number("scatter", src, "value", 3)
    dim = wrap_dim(dim, input._data.ndim, "scatter")
    if reduce is not None:
        from .scatter_reduce import scatter_with

        return scatter_with(input, dim, index, src, reduce)
    check_scatter("scatter", input, dim, index, src)
    if isinstance(src, Tensor):
        result: Tensor = apply(scatter_op, (input, index, src), {"dim": dim})
    else:
        element = as_element(src, input.dtype)
        result = apply(scatter_value_op, (input, index), {"dim": dim, "value": element})
    return result


@public(inplace=True)
def scatter_add(input: Any, dim: Any, index: Any, src: Any) -> Tensor:
    """Add `src` at the places `index` names along `dim`; places may repeat."""
    require_tensors("scatter_add", input=input)
    require_tensors("scatter_add", index=index, src=src)
    wrapped = wrap_dim(dim, input._data.ndim, "scatter_add")
    if count(index._data.shape):
        wrap_dim(dim, src._data.ndim, "scatter_add")
    check_scatter("scatter_add", input, wrapped, index, src)
    result: Tensor = apply(scatter_add_op, (input, index, src), {"dim": wrapped})
    return result
