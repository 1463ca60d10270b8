"""Functions of sparse tensors: `mm`, `addmm`, `sum`, `softmax`, and the older `hspmm`, `smm`, `sspaddmm`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..._arrays.sparse.base import as_dense, is_sparse
from ..._arrays.sparse.coo import CooArray, from_dense
from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor, make
from ..declare.dims import wrap_dim
from ..declare.guarding import by_signature, guarded
from . import kinds  # noqa: F401  (what a sparse tensor says of itself)
from .records import addmm_op, log_softmax_op, mm_op, softmax_op, sum_all_op, sum_op

Declared = TypeVar("Declared", bound=Callable[..., Any])


def _named(name: str) -> Callable[[Declared], Declared]:
    """A function that PyTorch binds under this name (a decorator)."""
    return lambda fn: guarded(fn, name)  # type: ignore[return-value]


def _require_coo(name: str, *tensors: Tensor) -> None:
    for one in tensors:
        if not isinstance(one._data, CooArray):
            raise RuntimeError(f"{name}: expected a sparse COO tensor, but got layout {one.layout}")


def _check_matrices(name: str, x: Tensor, y: Tensor) -> None:
    for which, one in (("self", x), ("mat2", y)):
        if one._data.ndim != 2:
            raise RuntimeError(f"{name}: {which} must be a matrix, got {one._data.ndim}-D tensor")
    if x._data.shape[1] != y._data.shape[0]:
        raise RuntimeError(
            f"{name}: Argument #3 (dense): Expected dim 0 size {x._data.shape[1]}, got "
            f"{y._data.shape[0]}"
        )
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"{name}: expected mat1 and mat2 to have the same dtype, but got: {x.dtype} != {y.dtype}"
        )


@_named("_sparse_mm")
def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of two matrices of which one is sparse; the gradient of a sparse one is sparse.

    It is sparse if both are. `reduce` takes, for a CSR matrix, "sum", "mean", "amax" or "amin" of the
    products in each row in place of their sum.
    """
    _check_matrices("addmm", mat1, mat2)
    if reduce not in (None, "sum"):
        return _reduced(mat1, mat2, str(reduce))
    if is_sparse(mat1._data) and is_sparse(mat2._data):
        return apply(mm_op, (mat1, mat2))  # type: ignore[no-any-return]
    if not is_sparse(mat1._data) and not is_sparse(mat2._data):
        return mat1 @ mat2
    zero = make(np.zeros((mat1._data.shape[0], mat2._data.shape[1]), mat1._data.dtype))
    return apply(addmm_op, (zero, mat1, mat2), {"beta": 0, "alpha": 1})  # type: ignore[no-any-return]


def _reduced(mat1: Tensor, mat2: Tensor, reduce: str) -> Tensor:
    """Each row's products gathered, then reduced row by row by the operations of dense tensors."""
    if getattr(mat1._data, "kind", None) != "csr":
        raise RuntimeError("torch.sparse.mm: reduce is for a CSR matrix times a dense one")
    if reduce not in ("mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, mean, amax or amin, got {reduce}")
    places = mat1._data.coo().indices
    values: Any = mat1
    products = values.values().unsqueeze(1) * mat2[make(places[1])]
    shape = (mat1._data.shape[0], mat2._data.shape[1])
    start: Any = make(np.zeros(shape, mat1._data.dtype))
    index: Any = make(places[0]).unsqueeze(1).expand(-1, shape[1])
    return start.scatter_reduce(0, index, products, reduce, include_self=False)  # type: ignore[no-any-return]


@_named("_sparse_addmm")
def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * mat + alpha * (mat1 @ mat2)` with a sparse `mat1`, whose gradient is sparse."""
    _check_matrices("addmm", mat1, mat2)
    if mat1._data.dtype.kind in "iu":  # PyTorch reads both in the matrices' dtype
        beta, alpha = int(beta), int(alpha)
    return apply(addmm_op, (mat, mat1, mat2), {"beta": beta, "alpha": alpha})  # type: ignore[no-any-return]


@_named("_sparse_sum")
def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of what is held, or sums over dimensions; sparse while a sparse dimension is left."""
    if not is_sparse(input._data):
        raise RuntimeError("torch.sparse.sum expects a sparse tensor; Tensor.sum is for dense ones")
    if dtype is not None:
        input = input.to(dtype)
    if dim is None:
        total: Tensor = apply(sum_all_op, (input,))
        return total if dtype is None else total.to(dtype)
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    wrapped = tuple(sorted({wrap_dim(d, input._data.ndim) for d in dims}))
    if len(wrapped) == input._data.ndim and dtype is None:
        return apply(sum_all_op, (input,))  # type: ignore[no-any-return]
    return apply(sum_op, (input,), {"dim": wrapped})  # type: ignore[no-any-return]


@_named("_sparse_softmax")
def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Softmax over what is held: a place that is not counts as minus infinity."""
    return _softmax(softmax_op, input, dim, dtype, False)


@_named("_sparse_log_softmax")
def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`."""
    return _softmax(log_softmax_op, input, dim, dtype, True)


def _softmax(op: Any, input: Tensor, dim: int, dtype: Any, log: bool) -> Tensor:
    if not isinstance(input._data, CooArray):
        raise RuntimeError("torch.sparse.softmax expects a sparse COO tensor")
    if dtype is not None:
        input = input.to(dtype)
    if input._data.dtype.kind not in "fV":
        raise RuntimeError(f'"softmax" not implemented for {input.dtype}')
    where = wrap_dim(dim, input._data.ndim)
    return apply(op, (input,), {"dim": where, "log": log})  # type: ignore[no-any-return]


# --- older names -------------------------------------------------------------------------------------


@by_signature
def smm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse and a dense matrix, as a sparse tensor."""
    _require_coo("smm", input)
    _check_matrices("smm", input, mat2)
    found = from_dense(as_dense(input._data @ mat2._data), 2)
    return make(_whole_rows(input, found))


def _whole_rows(input: Tensor, found: CooArray) -> CooArray:
    """All elements of the rows that hold anything, zeros too."""
    rows = np.unique(input._data.indices[0])
    full = found.dense()
    columns = found.shape[1]
    indices = np.stack((np.repeat(rows, columns), np.tile(np.arange(columns), len(rows))))
    return CooArray(indices, full[rows].reshape(-1), found.shape, True)


@by_signature
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse and a dense matrix, as the rows that hold anything."""
    _require_coo("hspmm", mat1)
    _check_matrices("hspmm", mat1, mat2)
    rows = np.unique(mat1._data.indices[0])
    full = as_dense(mat1._data @ mat2._data)
    return make(CooArray(rows[None], full[rows], full.shape, True))


@by_signature
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """A sparse matrix plus the product of a sparse and a dense one, sparse."""
    _require_coo("sspaddmm", input, mat1)
    _check_matrices("sspaddmm", mat1, mat2)
    added = smm(mat1, mat2)._data
    own = input._data.of_values(input._data.values * beta)
    indices = np.concatenate((own.indices, added.indices), axis=1)
    values = np.concatenate((own.values, added.values * alpha)).astype(own.dtype)
    return make(CooArray(indices, values, own.shape))
