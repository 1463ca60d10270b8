"""The records of operations on sparse tensors: conversions, matrix products, sums, softmax, with their gradients.

The gradient of a tensor of coordinates is one, too, at its places: what is not held is no variable. So rules
end in `masked`, except where PyTorch's own are dense.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.sparse.base import as_dense, is_sparse
from ..._arrays.sparse.compressed import CompressedArray, compressed
from ..._arrays.sparse.coo import CooArray, at_places, from_dense, masked
from ..._arrays.sparse.functions import product, summed
from ..declare.record import Op


def _coo(x: Any) -> CooArray:
    return x.coo() if isinstance(x, CompressedArray) else x


def at_places_of(g: Any, x: Any) -> Any:
    """A gradient at the places of a sparse tensor, in its layout."""
    if isinstance(x, CompressedArray):
        return compressed(masked(_coo(g) if is_sparse(g) else g, x.coo()), x.kind)
    return masked(_coo(g) if is_sparse(g) else g, x.coalesce())


def _taken(g: Any, indices: Any) -> Any:
    """The elements of a gradient at listed places."""
    if is_sparse(g):
        mask = CooArray(indices, np.zeros(indices.shape[1]), g.shape)
        return masked(_coo(g), mask).values
    return at_places(g, indices)


from_values_op = Op(
    "sparse_coo_tensor",
    lambda values, indices, size, coalesced: CooArray(indices, values, size, coalesced),
    ("values",),
    vjp={"values": lambda g, indices: _taken(g, indices)},
    node="SparseCooTensorWithDimsAndTensorsBackward0",
    opmath=False,
    internal=True,
)


def _places(kind: str, starts: Any, others: Any) -> Any:
    """Rows and columns of the elements of a compressed matrix, in the order that they are held in."""
    own = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return np.stack([own, others] if kind == "csr" else [others, own])


from_compressed_op = Op(
    "sparse_compressed_tensor",
    lambda values, kind, starts, others, size: CompressedArray(kind, starts, others, values, size),
    ("values",),
    vjp={"values": lambda g, kind, starts, others: _taken(g, _places(kind, starts, others))},
    node="SparseCompressedTensorBackward0",
    opmath=False,
    internal=True,
)
values_op = Op(
    "sparse_values",
    lambda x: x.values,
    ("x",),
    vjp={"x": lambda g, x: x.of_values(g)},
    node="ValuesBackward0",
    opmath=False,
    internal=True,
)
coalesce_op = Op(
    "sparse_coalesce",
    lambda x: x.coalesce(),
    ("x",),
    vjp={"x": lambda g: g},
    node="CoalesceBackward0",
    opmath=False,
    internal=True,
)
to_dense_op = Op(
    "sparse_to_dense",
    as_dense,
    ("x",),
    vjp={"x": at_places_of},
    node="ToDenseBackward0",
    opmath=False,
    internal=True,
)


def _to_layout(x: Any, sparse_dim: int, kind: str) -> Any:
    found = _coo(x) if is_sparse(x) else from_dense(x, sparse_dim)
    return found if kind == "coo" else compressed(found, kind)


def _operand(g: Any, x: Any) -> Any:
    """A gradient in the layout of what it belongs to."""
    return at_places_of(g, x) if is_sparse(x) else as_dense(g)


to_sparse_op, to_sparse_dim_op = (
    Op(name, _to_layout, ("x",), vjp={"x": _operand}, node=node, opmath=False, internal=True)
    for name, node in (("to_sparse", "ToSparseBackward1"), ("to_sparse_dim", "ToSparseBackward0"))
)
mask_op = Op(
    "sparse_mask",
    lambda x, mask: at_places_of(x, mask) if is_sparse(x) else _mask(x, mask),
    ("x", "mask"),
    vjp={"x": _operand},
    node="SparseMaskBackward0",
    opmath=False,
    internal=True,
)


def _mask(x: Any, mask: Any) -> Any:
    return (
        compressed(masked(x, mask.coo()), mask.kind)
        if isinstance(mask, CompressedArray)
        else masked(x, mask)
    )


# --- products --------------------------------------------------------------------------------------


def _adjoint(x: Any) -> Any:
    return np.conjugate(np.transpose(x))


mm_op = Op(
    "sparse_mm",
    lambda x, y: product(x, y),
    ("x", "y"),
    vjp={
        "x": lambda g, x, y: _operand(product(as_dense(g), _adjoint(y)), x),
        "y": lambda g, x, y: _operand(product(_adjoint(x), as_dense(g)), y),
    },
    node="SparseSparseMatmulBackward0",
    internal=True,
)


def _addmm(mat: Any, x: Any, y: Any, beta: Any, alpha: Any) -> Any:
    found = product(x, y)
    if alpha != 1:
        found = found * alpha
    if is_sparse(found):
        return mat * beta + found
    return found + (as_dense(mat) * beta if beta != 1 else as_dense(mat)) if beta != 0 else found


addmm_op = Op(
    "sparse_addmm",
    _addmm,
    ("mat", "x", "y"),
    vjp={
        "mat": lambda g, mat, beta: _operand(g * beta, mat),
        "x": lambda g, x, y, alpha: _operand(product(as_dense(g), _adjoint(y)) * alpha, x),
        "y": lambda g, x, y, alpha: _operand(product(_adjoint(x), as_dense(g)) * alpha, y),
    },
    node="SparseAddmmBackward0",
    internal=True,
)

# --- sums and softmax --------------------------------------------------------------------------------


def _spread(g: Any, x: Any, dim: tuple[int, ...]) -> Any:
    """The gradient of a sum: that of its result, at each place that went into it."""
    whole = np.broadcast_to(np.expand_dims(as_dense(g), dim), x.shape)
    return at_places_of(whole, x)


sum_op = Op(
    "sparse_sum",
    lambda x, dim: summed(_coo(x), dim),
    ("x",),
    vjp={"x": _spread},
    node="SparseSumBackward0",
    internal=True,
)
sum_all_op = Op(
    "sparse_sum_all",
    lambda x: np.sum(x.values, dtype=np.int64 if x.dtype.kind in "biu" else None),
    ("x",),
    vjp={"x": lambda g, x: _ones(x, g)},
    node="SumBackward0",
    internal=True,
)


def _ones(x: Any, g: Any) -> Any:
    held = x if isinstance(x, CompressedArray) else x.coalesce()
    return held.of_values(np.full_like(held.values, g))


def _groups(x: CooArray, dim: int) -> tuple[Any, int]:
    """Which held elements share all coordinates but `dim`."""
    kept = [d for d in range(x.sparse_dim) if d != dim]
    if not kept or not x.nnz:
        return np.zeros(x.nnz, np.int64), 1
    keys = np.ravel_multi_index(tuple(x.indices[kept]), [x.shape[d] for d in kept])
    found, inverse = np.unique(keys, return_inverse=True)
    return inverse, len(found)


def softmax_forward(x: Any, dim: int, log: bool) -> Any:
    """Softmax over what is held: a place that is not counts as minus infinity."""
    x = x.coalesce()
    dim %= x.ndim
    if dim >= x.sparse_dim:
        axis = dim - x.sparse_dim + 1
        shifted = x.values - np.max(x.values, axis=axis, keepdims=True)
        total = np.sum(np.exp(shifted), axis=axis, keepdims=True)
    else:
        group, count = _groups(x, dim)
        top = np.full((count, *x.values.shape[1:]), -np.inf, x.dtype)
        np.maximum.at(top, group, x.values)
        shifted = x.values - top[group]
        sums = np.zeros_like(top)
        np.add.at(sums, group, np.exp(shifted))
        total = sums[group]
    found = shifted - np.log(total) if log else np.exp(shifted) / total
    return x.of_values(found.astype(x.dtype))


def _softmax_vjp(g: Any, out: Any, dim: int, log: bool) -> Any:
    g = at_places_of(g, out).values
    y = out.values
    part = g if log else g * y
    dim %= out.ndim
    if dim >= out.sparse_dim:
        total = np.sum(part, axis=dim - out.sparse_dim + 1, keepdims=True)
    else:
        group, count = _groups(out, dim)
        sums = np.zeros((count, *y.shape[1:]), y.dtype)
        np.add.at(sums, group, part)
        total = sums[group]
    return out.of_values(g - np.exp(y) * total if log else y * (g - total))


softmax_op, log_softmax_op = (
    Op(name, softmax_forward, ("x",), vjp={"x": _softmax_vjp}, node=node, internal=True)
    for name, node in (
        ("sparse_softmax", "SparseSoftmaxBackward0"),
        ("sparse_log_softmax", "SparseLogSoftmaxBackward0"),
    )
)
