"""Methods of tensors that have to do with sparse ones: conversions both ways, and what a sparse one holds.

Their docstrings stand with the names (`_tensor/sparse_methods.py`), where they are there before any of this is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.formats import sparse_coo, sparse_csc, sparse_csr, strided
from ..._arrays.sparse.base import is_sparse, not_for
from ..._arrays.sparse.compressed import CompressedArray
from ..._arrays.sparse.coo import CooArray
from ..._autograd.apply import apply
from ..._autograd.views import bump
from ..._tensor.sparse_methods import DOCS
from ..._tensor.tensor import Tensor, make
from ..declare.wrong_argument import WrongArgument
from . import kinds  # noqa: F401  (what a sparse tensor says of itself)
from .records import coalesce_op, mask_op, to_dense_op, to_sparse_dim_op, to_sparse_op, values_op

METHODS: dict[str, Callable[..., Any]] = {}
_KINDS = {sparse_coo: "coo", sparse_csr: "csr", sparse_csc: "csc"}


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    function.__doc__ = DOCS[function.__name__]
    METHODS[function.__name__] = function
    return function


# --- conversions -------------------------------------------------------------------------------------


def _converted(
    self: Tensor, kind: str, sparse_dim: int | None = None, op: Any = to_sparse_op
) -> Tensor:
    data = self._data
    if getattr(data, "kind", "coo" if isinstance(data, CooArray) else None) == kind:
        return self
    dims = data.ndim if sparse_dim is None else sparse_dim
    if kind != "coo" and data.ndim != 2:
        raise RuntimeError(
            f"to_sparse_{kind}: conversion from {'Sparse' if is_sparse(data) else 'Strided'} to "
            f"Sparse{kind.title()} for a tensor of {data.ndim} dimensions is not supported: matrices only"
        )
    return apply(op, (self,), {"sparse_dim": dims, "kind": kind})  # type: ignore[no-any-return]


@_method
def to_sparse(
    self: Tensor, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: Any = None
) -> Tensor:  # fmt: skip
    for name, dims in (("sparse_dim", sparse_dim), ("dense_dim", dense_dim)):
        if dims is not None and type(dims) is not int:
            raise WrongArgument(
                f"to_sparse(): argument '{name}' must be int, not {type(dims).__name__}"
            )
    if layout is not None and layout not in (*_KINDS, strided):
        raise RuntimeError(f"to_sparse: conversion to layout {layout} is not supported")
    if layout is strided:
        return self if not is_sparse(self._data) else apply(to_dense_op, (self,))
    kind = "coo" if layout is None else _KINDS[layout]
    if blocksize is not None:
        raise RuntimeError(
            f"to_sparse: conversion to layout {layout or sparse_coo} with blocksize argument given "
            "is not supported"
        )
    if kind != "coo":
        return _compressed(self, kind, dense_dim)
    asked = _sparse_dim(self, sparse_dim, dense_dim)
    if sparse_dim is None and dense_dim is None:
        return _converted(self, kind)
    return _converted(self, kind, asked, to_sparse_dim_op)


def _sparse_dim(self: Tensor, sparse_dim: int | None, dense_dim: int | None) -> int:
    """How many dimensions a place is to fix, if there can be that many."""
    ndim = int(self._data.ndim)
    if is_sparse(self._data):
        own = int(getattr(self._data, "sparse_dim", 2))
        if dense_dim is not None:
            raise RuntimeError(
                "to_sparse: conversion from Sparse to Sparse with dense_dim argument given is not "
                "supported"
            )
        if sparse_dim not in (None, own):
            raise RuntimeError(
                "to_sparse: conversion from Sparse to Sparse with sparse_dim argument "
                f"!={own} is not supported"
            )
        return own
    for name, dims in (("sparse_dim", sparse_dim), ("dense_dim", dense_dim)):
        _check_dims("dense_to_sparse", name, dims, ndim)
    return sparse_dim if sparse_dim is not None else ndim - (dense_dim or 0)


def _compressed(self: Tensor, kind: str, dense_dim: int | None) -> Tensor:
    _check_dims(f"dense_to_sparse_{kind}", "dense_dim", dense_dim, max(int(self._data.ndim) - 2, 0))
    return _converted(self, kind)


def _check_dims(name: str, argument: str, dims: int | None, most: int) -> None:
    if dims is not None and not 0 <= dims <= most:
        raise RuntimeError(
            f"{name}: {argument} argument must be in [0,{most}] range, but {dims} is given"
        )


@_method
def to_sparse_coo(self: Tensor) -> Tensor:
    return _converted(self, "coo")


@_method
def to_sparse_csr(self: Tensor, dense_dim: Any = None) -> Tensor:
    return _compressed(self, "csr", dense_dim)


@_method
def to_sparse_csc(self: Tensor, dense_dim: Any = None) -> Tensor:
    return _compressed(self, "csc", dense_dim)


@_method
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    found: Tensor = self if not is_sparse(self._data) else apply(to_dense_op, (self,))
    return found if dtype is None else found.to(dtype)


@_method
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    if self._data.shape != mask._data.shape:
        raise RuntimeError(
            "sparse_mask(): operands have incompatible sizes; self has size "
            f"{list(self._data.shape)} but mask has size {list(mask._data.shape)}"
        )
    if not is_sparse(mask._data):
        raise NotImplementedError(
            "Could not run 'aten::sparse_mask' with arguments from the 'CPU' backend: the mask is dense"
        )
    return apply(mask_op, (self, mask))  # type: ignore[no-any-return]


# --- what is held --------------------------------------------------------------------------------------


def _coo_of(self: Tensor, name: str) -> CooArray:
    if not isinstance(self._data, CooArray):
        layout = getattr(self._data, "backend", "StridedCPU").removesuffix("CPU")
        raise RuntimeError(f"{name} expected sparse coordinate tensor layout but got {layout}")
    return self._data


@_method
def coalesce(self: Tensor) -> Tensor:
    data = _coo_of(self, "coalesce")
    return self if data.coalesced else apply(coalesce_op, (self,))


@_method
def is_coalesced(self: Tensor) -> bool:
    return _coo_of(self, "is_coalesced").coalesced


@_method
def _coalesced_(self: Tensor, coalesced: bool) -> Tensor:
    _coo_of(self, "_coalesced_").coalesced = bool(coalesced)
    return self


def _held(self: Tensor, what: str) -> CooArray:
    data = _coo_of(self, what)
    if not data.coalesced:
        raise RuntimeError(
            f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first"
        )
    return data


@_method
def indices(self: Tensor) -> Tensor:
    return make(_held(self, "indices").indices)


@_method
def values(self: Tensor) -> Tensor:
    if not isinstance(self._data, CompressedArray):
        _held(self, "values")
    return apply(values_op, (self,))  # type: ignore[no-any-return]


@_method
def _indices(self: Tensor) -> Tensor:
    return make(_coo_of(self, "_indices").indices)


@_method
def _values(self: Tensor) -> Tensor:
    return make(self._data.values)


@_method
def _nnz(self: Tensor) -> int:
    if not is_sparse(self._data):
        raise not_for("_nnz", "CPU")
    return int(self._data.nnz)


@_method
def sparse_dim(self: Tensor) -> int:
    return int(getattr(self._data, "sparse_dim", 2 if is_sparse(self._data) else 0))


@_method
def dense_dim(self: Tensor) -> int:
    return int(self._data.ndim) - (sparse_dim(self) if is_sparse(self._data) else 0)


def _part(name: str, kind: str, attribute: str) -> Callable[..., Any]:
    def method(self: Tensor) -> Tensor:
        if getattr(self._data, "kind", None) != kind:
            dense = "Strided" if not is_sparse(self._data) else "Sparse"
            raise RuntimeError(
                f"{name} expected sparse {'row' if kind == 'csr' else 'column'} compressed tensor "
                f"layout but got {dense}"
            )
        return make(getattr(self._data, attribute))

    method.__name__ = name
    return _method(method)


for _name, _kind, _attribute in (
    ("crow_indices", "csr", "starts"),
    ("col_indices", "csr", "others"),
    ("ccol_indices", "csc", "starts"),
    ("row_indices", "csc", "others"),
):
    _part(_name, _kind, _attribute)


@_method
def sparse_resize_(self: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    data = _coo_of(self, "sparse_resize_")
    shape = tuple(int(n) for n in size)
    if sparse_dim + dense_dim != len(shape):
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
            f"{len(shape)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )
    if data.nnz and (sparse_dim != data.sparse_dim or any(
        new < old for new, old in zip(shape, data.shape, strict=True)
    )):  # fmt: skip
        raise RuntimeError("changing the number of sparse dimensions, or shrinking the size, of a "
                           "non-empty sparse tensor is not supported")  # fmt: skip
    kept = data.indices if data.nnz else np.zeros((sparse_dim, 0), np.int64)
    held = data.values if data.nnz else np.zeros((0, *shape[sparse_dim:]), data.dtype)
    data.become(CooArray(kept, held, shape, data.coalesced))
    bump(self)
    return self


@_method
def sparse_resize_and_clear_(self: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    data = _coo_of(self, "sparse_resize_and_clear_")
    shape = tuple(int(n) for n in size)
    held = np.zeros((0, *shape[sparse_dim:]), data.dtype)
    data.become(CooArray(np.zeros((sparse_dim, 0), np.int64), held, shape, True))
    bump(self)
    return self


@_method
def smm(self: Tensor, mat2: Tensor) -> Tensor:
    from .products import smm as product

    return product(self, mat2)


@_method
def sspaddmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    from .products import sspaddmm as product

    return product(self, mat1, mat2, beta=beta, alpha=alpha)
