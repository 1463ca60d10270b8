"""Diagonals and triangles: diag, diag_embed, tril, triu, trace, vander and index lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.dtypes import LEGACY_NAMES, as_dtype, int64
from ..._arrays.room import out_of_memory
from ..._arrays.strided import storage_offset_of, strides_of
from ..._autograd.apply import apply
from ..._autograd.lifted import counterpart
from ..._tensor.arguments import put, require_strided
from ..._tensor.tensor import Tensor, make
from ..declare.dims import require_int, wrap_dim
from ..declare.elementwise_calls import require_tensor
from ..declare.public import FUNCTIONS, public
from ..declare.record import LINEAR, REGISTRY, Op
from ..declare.samples import Sample, T
from ..elementwise.casting import cast
from .rearranging import in_order
from .slices import diagonal, diagonal_of, diagonal_op

# --- onto a diagonal ------------------------------------------------------------------------------

_diagonal_backward_op = REGISTRY["diagonal_backward"]


def _embed(x: Any, offset: int, dim1: int, dim2: int) -> Any:
    extent = x.shape[-1] + abs(offset)
    shape = list(x.shape[:-1])
    for dim in sorted((dim1, dim2)):
        shape.insert(dim, extent)
    return _diagonal_backward_op.forward(x, shape=tuple(shape), offset=offset, dim1=dim1, dim2=dim2)


diag_embed_op = Op(
    "diag_embed",
    _embed,
    ("x",),
    vjp={"x": lambda g, offset, dim1, dim2: diagonal_op(g, offset=offset, dim1=dim1, dim2=dim2)},
    jvp=LINEAR,
    opmath=False,
    samples=lambda: [
        Sample(T(3)),
        Sample(T(2, 3), 1),
        Sample(T(2, 3), -1, 0, 2),
        Sample(T(2, 0)),
        Sample(T(2, 3, layout="transposed"), offset=0, dim1=-1, dim2=0),
    ],
)


@public(out=False)
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the last dimension of `input` on a diagonal and zeros elsewhere."""
    require_tensor("diag_embed", input)
    ndim = input._data.ndim + 1
    first, second = wrap_dim(dim1, ndim, "diag_embed"), wrap_dim(dim2, ndim, "diag_embed")
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    parameters = {
        "offset": require_int(offset, "diag_embed", "offset"),
        "dim1": first,
        "dim2": second,
    }
    result: Tensor = apply(diag_embed_op, (input,), parameters)
    return result


diagonal_copy_op = Op(
    "diagonal_copy",
    lambda x, offset, dim1, dim2: np.copy(diagonal_of(x, offset, dim1, dim2), order="C"),
    ("x",),
    vjp={
        "x": lambda g, x_shape, offset, dim1, dim2: _diagonal_backward_op(
            g, shape=x_shape, offset=offset, dim1=dim1, dim2=dim2
        )
    },
    jvp=LINEAR,
    opmath=False,
    node="DiagonalBackward0_copy",
    public="diag",
    samples=lambda: [Sample(T(3, 3)), Sample(T(2, 3), 1), Sample(T(3, 2), -1), Sample(T(0, 2))],
)


@public()
def diag(input: Any, diagonal: int = 0) -> Tensor:
    """A matrix with a vector on its diagonal, or the diagonal of a matrix as a vector."""
    require_tensor("diag", input)
    ndim = input._data.ndim
    if ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    if ndim == 1:
        return diag_embed(input, diagonal)
    parameters = {"offset": require_int(diagonal, "diag", "diagonal"), "dim1": 0, "dim2": 1}
    result: Tensor = apply(diagonal_copy_op, (input,), parameters)
    return result


@public(out=False)
def diagflat(input: Any, offset: int = 0) -> Tensor:
    """A matrix with all elements of `input` on a diagonal."""
    require_tensor("diagflat", input)
    from .rearranging import contiguous
    from .views import view_to

    return diag(view_to(contiguous(input), (input._data.size,)), offset)


@public(function=False, out=False)
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Set the main diagonal; with `wrap`, that of a tall matrix starts anew below each square."""
    from .copy_fill import fill_
    from .strided_views import as_strided

    shape = self._data.shape
    if not isinstance(wrap, bool):
        raise TypeError(
            f"fill_diagonal_(): argument 'wrap' must be bool, not {type(wrap).__name__}"
        )
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    strides, count = strides_of(self._data), min(shape)
    start = storage_offset_of(self._data)
    fill_(as_strided(self, (count,), (sum(strides),), start), fill_value)
    if wrap and len(shape) == 2 and shape[0] > shape[1] + 1:
        step = shape[1] + 1
        left = -(-self._data.size // step) - count
        fill_(as_strided(self, (left,), (sum(strides),), start + strides[0] * step), fill_value)
    return self


# --- triangles ------------------------------------------------------------------------------------


def _triangle_samples() -> list[Sample]:
    return [
        Sample(T(3, 4)),
        Sample(T(3, 3), 1),
        Sample(T(2, 3, 2), diagonal=-1),
        Sample(T(0, 3)),
        Sample(T(3, 4, layout="transposed")),
    ]


tril_op: Op = Op(
    "tril",
    lambda x, diagonal: np.tril(in_order(x), diagonal),
    ("x",),
    vjp={"x": lambda g, diagonal: tril_op(g, diagonal=diagonal)},
    jvp=LINEAR,
    opmath=False,
    samples=_triangle_samples,
)
triu_op: Op = Op(
    "triu",
    lambda x, diagonal: np.triu(in_order(x), diagonal),
    ("x",),
    vjp={"x": lambda g, diagonal: triu_op(g, diagonal=diagonal)},
    jvp=LINEAR,
    opmath=False,
    samples=_triangle_samples,
)


def _triangle(name: str, op: Op, input: Any, diagonal: Any) -> Tensor:
    require_tensor(name, input)
    if input._data.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    rows, columns = input._data.shape[-2:]
    wanted = require_int(diagonal, name, "diagonal")
    if not -rows <= wanted <= columns and -(2**63) <= wanted < 2**63:
        wanted = -rows if wanted < 0 else columns  # beyond the corner nothing changes any more
    parameters = {"diagonal": wanted}
    result: Tensor = apply(op, (input,), parameters)
    return result


@public(inplace=True)
def tril(input: Any, diagonal: int = 0) -> Tensor:
    """The lower triangle of matrices, zeros above the given diagonal."""
    return _triangle("tril", tril_op, input, diagonal)


@public(inplace=True)
def triu(input: Any, diagonal: int = 0) -> Tensor:
    """The upper triangle of matrices, zeros below the given diagonal."""
    return _triangle("triu", triu_op, input, diagonal)


counterpart(np.tril)(lambda x, k=0: tril(x, k))
counterpart(np.triu)(lambda x, k=0: triu(x, k))


def _lower(row: int, col: int, offset: int) -> tuple[Any, Any]:
    """Row and column of every element of a lower triangle, row by row."""
    first = min(max(-offset, 0), row)  # above it there is nothing
    growing = min(max(col - 1 - offset, first), row)  # from there on rows are full
    lengths = (_counting(first + offset + 1, growing - first), _full(col, row - growing))
    return _run_lengths(first, np.concatenate(lengths), None)


def _upper(row: int, col: int, offset: int) -> tuple[Any, Any]:
    """Row and column of every element of an upper triangle, row by row."""
    full = min(max(-offset, 0), row)
    last = max(min(row, col - offset), full)  # from there on there is nothing
    starts = _counting(full + offset, last - full)
    lengths = np.concatenate((_full(col, full), col - starts))
    return _run_lengths(
        0, lengths, np.concatenate((np.zeros(lengths.size - starts.size, np.int64), starts))
    )


def _full(length: int, count: int) -> Any:
    """The lengths of so many rows; none, if they have no element."""
    return np.full(count if length else 0, length, np.int64)


def _counting(start: int, count: int) -> Any:
    return np.arange(count) + start if count else np.arange(0)


def _is_beyond_memory(lengths: Any) -> bool:
    return bool(lengths.sum(dtype=np.float64) > 2**60)


def _run_lengths(first: int, lengths: Any, starts: Any) -> tuple[Any, Any]:
    """Rows from `first` with so many columns each, from 0 or their own start."""
    if _is_beyond_memory(lengths):
        raise out_of_memory(None)
    rows = np.repeat(np.arange(first, first + lengths.size), lengths)
    ends = np.cumsum(lengths)
    columns = np.arange(rows.size) - np.repeat(ends - lengths, lengths)
    return rows, columns if starts is None else columns + np.repeat(starts, lengths)


def _indices(
    name: str,
    find: Any,
    row: Any,
    col: Any,
    offset: Any,
    dtype: Any,
    device: Any,
    requires_grad: bool,
) -> Tensor:
    for what, extent in (("row", row), ("col", col)):
        if extent < 0:
            raise RuntimeError(f"{what} must be non-negative, got{extent}")
    kind = int64 if dtype is None else as_dtype(dtype)
    if kind.name not in ("int64", "int32", "int16", "int8", "uint8"):
        raise NotImplementedError(f"\"{name}\" not implemented for '{LEGACY_NAMES[kind]}'")
    found = make(put(np.stack(find(row, col, offset)).astype(kind.numpy), device))
    if requires_grad:
        found.requires_grad = True  # which integers refuse
    return found


def _triangle_indices(name: str, find: Any, which: str) -> None:
    def indices(
        row: int,
        col: int,
        offset: int = 0,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
    ) -> Tensor:
        require_strided(name, layout)
        return _indices(name, find, row, col, offset, dtype, device, requires_grad)

    indices.__name__ = indices.__qualname__ = name
    indices.__doc__ = f"The row and column numbers of the {which} triangle of a matrix."
    public(method=False, out=False)(indices)


_triangle_indices("tril_indices", _lower, "lower")
_triangle_indices("triu_indices", _upper, "upper")


# --- trace and powers -----------------------------------------------------------------------------

trace_op = Op(
    "trace",
    lambda x: np.trace(x, dtype=np.int64 if x.dtype.kind in "iu" else None),
    ("x",),
    # d(trace)/dx is the identity: the gradient along the diagonal.
    vjp={
        "x": lambda g, x_shape: _diagonal_backward_op(
            np.broadcast_to(g, (min(x_shape),)), shape=x_shape, offset=0, dim1=0, dim2=1
        )
    },
    jvp=LINEAR,
    samples=lambda: [
        Sample(T(3, 3)),
        Sample(T(2, 4)),
        Sample(T(0, 2)),
        Sample(T(4, 3, layout="transposed")),
    ],
)


@public(out=False)
def trace(input: Any) -> Tensor:
    """The sum of a matrix's diagonal."""
    require_tensor("trace", input)
    if input._data.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input._data.ndim}")
    if input._data.dtype.kind == "b":
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")
    result: Tensor = apply(trace_op, (input,))
    return result


counterpart(np.trace)(
    lambda x, offset=0, axis1=0, axis2=1: diagonal(x, offset, axis1, axis2).sum(-1)
)


@public(method=False, out=False)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Tensor:
    """The matrix whose columns are powers of a vector, the highest first unless `increasing`."""
    require_tensor("vander", x, "x")
    require_strided("vander", x.layout)
    if x._data.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x._data.shape[0] if N is None else require_int(N, "vander", "N")
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    source = cast(x, int64) if x._data.dtype.kind in "biu" else x
    powers: Any = make(np.empty_like(source._data, shape=(x._data.shape[0], count)))
    if count:
        powers.select(1, 0).fill_(1)
    if count > 1:
        rest = powers.narrow(1, 1, count - 1)
        rest.copy_(source.unsqueeze(1))
        rest.copy_(FUNCTIONS["cumprod"](rest, 1))
    found: Tensor = powers if increasing else FUNCTIONS["flip"](powers, (1,))
    return found
