"""NumPy's functions on sparse arrays, as far as PyTorch's operations on them go.

An elementwise function that preserves zero is applied to the stored elements; a sum of two arrays is the union
of their positions, a product the intersection; a matrix product is SciPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .base import SparseArray, as_dense, is_sparse, not_for
from .compressed import CompressedArray, compressed
from .coo import CooArray, at_places, empty, from_dense, masked, merged, transposed
from .moves import MOVES, expanded

_KEEP_ZERO = frozenset(
    (
        *(np.negative, np.absolute, np.sqrt, np.sin, np.tan, np.arcsin, np.arctan, np.sinh, np.tanh),
        *(np.arcsinh, np.arctanh, np.expm1, np.log1p, np.sign, np.floor, np.ceil, np.trunc, np.rint),
        *(np.deg2rad, np.rad2deg, np.isnan, np.isinf, np.signbit, np.positive, np.square, np.conjugate),
    )
)  # fmt: skip


_SCIPYS = ("erf", "erfinv")  # by name, so that SciPy need not be there


def on_values(ufunc: Any, args: Any, kwargs: Any) -> Any:
    """A function of one array that preserves zero, applied to the stored elements."""
    if (ufunc not in _KEEP_ZERO and ufunc.__name__ not in _SCIPYS) or len(args) != 1:
        return NotImplemented
    (x,) = args
    if isinstance(x, CooArray) and ufunc not in (np.negative, np.positive, np.conjugate):
        x = x.coalesce()
    return _put(x.of_values(ufunc(x.values)), kwargs)


def _put(result: Any, kwargs: dict[str, Any]) -> Any:
    """Store a result in `out`, if given."""
    (out,) = kwargs.get("out") or (None,)
    if out is None:
        return result
    if is_sparse(out):
        out.become(result)
    else:
        np.copyto(out, as_dense(result))
    return out


def _is_number(x: Any) -> bool:
    return not is_sparse(x) and np.ndim(x) == 0


def _add(ufunc: Any, args: Any, kwargs: Any) -> Any:
    x, y = args
    if is_sparse(x) and is_sparse(y):
        if x.shape != y.shape:
            raise RuntimeError(
                "add: expected sizes of 'self' and 'other' to match, but "
                f"{list(x.shape)} != {list(y.shape)}"
            )
        if isinstance(x, CompressedArray):
            result: Any = compressed(merged(x.coo(), _signed(_coo(y), ufunc)), x.kind)
        else:
            result = merged(x, _signed(_coo(y), ufunc))
    elif is_sparse(x):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    else:
        if np.broadcast_shapes(np.shape(x), y.shape) != np.shape(x):
            raise RuntimeError(
                "add: expected 'self' and 'other' to have same size, but self has size "
                f"{list(np.shape(x))} while other has size {list(y.shape)} (FYI: dense-sparse addition "
                "does not currently support broadcasting)"
            )
        result = np.array(np.broadcast_to(x, np.broadcast_shapes(np.shape(x), y.shape)))
        if np.dtype(y.dtype).kind == "V" and result.dtype != y.dtype:
            raise RuntimeError(
                f"add(dense, sparse): no addition of {result.dtype} and {y.dtype}; convert one of them"
            )
        added = _coo(y).coalesce()
        result = result.astype(np.result_type(result, y.dtype), copy=False)
        if added.sparse_dim:
            ufunc.at(result, tuple(added.indices), added.values)
        elif added.nnz:
            ufunc(result, added.values[0], out=result)
    return _put(result, kwargs)


def _coo(x: Any) -> CooArray:
    return x.coo() if isinstance(x, CompressedArray) else x


def _signed(x: CooArray, ufunc: Any) -> CooArray:
    return x.of_values(-x.values) if ufunc is np.subtract else x


def _multiply(ufunc: Any, args: Any, kwargs: Any) -> Any:
    x, y = args
    if _is_number(y):
        return _put(x.of_values(np.multiply(x.values, y)), kwargs)
    if _is_number(x):
        return _put(y.of_values(np.multiply(x, y.values)), kwargs)
    if is_sparse(x) and is_sparse(y):
        kind = getattr(x, "kind", None)
        product = _both(_coo(x), _coo(y))
        return _put(compressed(product, kind) if kind else product, kwargs)
    sparse, other = (x, y) if is_sparse(x) else (y, x)
    whole = np.broadcast_shapes(sparse.shape, np.shape(other))
    if whole != tuple(sparse.shape):  # every element may be there more than once
        return _put(from_dense(as_dense(sparse) * other, len(whole)), kwargs)
    places = _coo(sparse).coalesce() if isinstance(sparse, CompressedArray) else sparse
    there = at_places(np.broadcast_to(other, sparse.shape), places.indices)
    result = places.of_values(places.values * there)
    kind = getattr(sparse, "kind", None)
    return _put(compressed(result, kind) if kind else result, kwargs)


def _both(x: CooArray, y: CooArray) -> CooArray:
    """Products at the positions stored in both: each entry of the uncoalesced one times the other's element."""
    if x.coalesced and not y.coalesced:
        x, y = y, x
    y = y.coalesce()
    held = np.isin(x.keys(), y.keys())
    kept = CooArray(x.indices[:, held], x.values[held], x.shape, x.coalesced)
    return kept.of_values(kept.values * masked(y, kept).values)


def _divide(ufunc: Any, args: Any, kwargs: Any) -> Any:
    x, y = args
    if not _is_number(y):
        name = "floor division" if ufunc is np.floor_divide else "division"
        raise RuntimeError(
            f"Sparse {name} requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(np.shape(y))} for divisor)"
        )
    if isinstance(x, CooArray) and ufunc is not np.divide:
        x = x.coalesce()
    return _put(x.of_values(ufunc(x.values, y)), kwargs)


def _power(ufunc: Any, args: Any, kwargs: Any) -> Any:
    x, y = args
    if not _is_number(y) or is_sparse(y):
        return NotImplemented
    x = x.coalesce() if isinstance(x, CooArray) else x
    return _put(x.of_values(np.power(x.values, y)), kwargs)


def _maximum(ufunc: Any, args: Any, kwargs: Any) -> Any:
    """`relu` is `maximum(x, 0)`."""
    x, y = args if is_sparse(args[0]) else args[::-1]
    if _is_number(y) and float(y) == 0:
        x = x.coalesce() if isinstance(x, CooArray) else x
        return _put(x.of_values(ufunc(x.values, y)), kwargs)
    return NotImplemented


def scipy_of(x: Any) -> Any:
    """A sparse matrix as a SciPy matrix."""
    if isinstance(x, CompressedArray):
        return x.scipy()
    from scipy import sparse

    return sparse.coo_array((x.values, tuple(x.indices)), shape=x.shape)


def product(x: Any, y: Any) -> Any:
    """The product of two matrices, or of a matrix and a vector; sparse only if both are."""
    if not is_sparse(x) and not is_sparse(y):
        return np.matmul(x, y)
    if x.ndim == 3:
        return np.stack([product(_page(x, k), as_dense(y)[k]) for k in range(x.shape[0])])
    if is_sparse(x) and is_sparse(y):
        found = (scipy_of(x) @ scipy_of(y)).tocsr()
        found.sort_indices()
        kind = getattr(x, "kind", None) or getattr(y, "kind", None)
        result = CompressedArray(
            "csr",
            found.indptr.astype(np.int64),
            found.indices.astype(np.int64),
            found.data,
            found.shape,
        )
        return result if kind else result.coo()  # CSC factors give CSR, as in PyTorch
    if is_sparse(x):
        return np.ascontiguousarray(scipy_of(x) @ y)
    return np.ascontiguousarray((scipy_of(y).T @ x.T).T)


def _page(x: CooArray, k: int) -> CooArray:
    held = x.indices[0] == k
    return CooArray(x.indices[1:, held], x.values[held], x.shape[1:], x.coalesced)


def _matmul(ufunc: Any, args: Any, kwargs: Any) -> Any:
    return _put(product(*args), kwargs)


def _compare(ufunc: Any, args: Any, kwargs: Any) -> Any:
    """A comparison with a number that zero does not meet: what is held may meet it."""
    x, y = args
    if not is_sparse(x) or not _is_number(y) or ufunc(x.dtype.type(0), y):
        return NotImplemented
    x = x.coalesce() if isinstance(x, CooArray) else x
    return _put(x.of_values(ufunc(x.values, y)), kwargs)


def _at_the_same_places(ufunc: Any, args: Any, kwargs: Any) -> Any:
    """A function of two arrays that preserves zero, where they hold the same places."""
    if not all(map(is_sparse, args)):
        return NotImplemented
    x, y = (a.coalesce() if isinstance(a, CooArray) else a for a in args)
    if type(x) is not type(y) or not _share_places(x, y):
        return NotImplemented
    return _put(x.of_values(ufunc(x.values, y.values)), kwargs)


def _share_places(x: Any, y: Any) -> bool:
    if isinstance(x, CooArray):
        return np.array_equal(x.indices, y.indices)
    same = x.kind == y.kind and np.array_equal(x.starts, y.starts)
    return same and np.array_equal(x.others, y.others)


UFUNCS: dict[Any, Callable[..., Any]] = {
    np.greater: _compare,
    np.less: _compare,
    np.not_equal: _compare,
    np.copysign: _at_the_same_places,
    np.bitwise_and: _at_the_same_places,
    np.logical_and: _at_the_same_places,
    np.add: _add,
    np.subtract: _add,
    np.multiply: _multiply,
    np.divide: _divide,
    np.floor_divide: _divide,
    np.power: _power,
    np.float_power: _power,
    np.maximum: _maximum,
    np.matmul: _matmul,
}


# --- array functions -------------------------------------------------------------------------------


def _sum(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **_: Any
) -> Any:
    if dtype is None and x.dtype.kind in "biu":
        dtype = np.int64
    if axis is None and not keepdims:
        return np.sum(x.values, dtype=dtype)
    return summed(_coo(x if dtype is None else x.astype(dtype)), axis, keepdims)


def summed(x: CooArray, axis: Any, keepdims: bool = False) -> Any:
    """Sums over dimensions: sparse as long as a sparse dimension remains."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    gone = sorted({d % x.ndim for d in axes})
    kept = [d for d in range(x.sparse_dim) if d not in gone]
    inner = tuple(d - x.sparse_dim + 1 for d in gone if d >= x.sparse_dim)
    values = np.sum(x.values, axis=inner, dtype=x.dtype) if inner else x.values
    if not kept:
        total = np.sum(values, axis=0, dtype=x.dtype)
        return np.expand_dims(total, tuple(gone)) if keepdims else total
    shape = tuple(extent for d, extent in enumerate(x.shape) if d not in gone)
    found = CooArray(x.indices[kept], values, shape, x.coalesced and len(kept) == x.sparse_dim)
    total = found.coalesce()
    for d in gone if keepdims else ():
        total = expanded(total, d)
    return total


def _any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether any stored element is nonzero; over only some dimensions there is no such operation."""
    if axis == ():
        return x.of_values(x.values != 0)
    if axis is not None:
        raise not_for("any.dim", x.backend)
    return np.any(x.values).reshape((1,) * x.ndim if keepdims else ())


def _transpose(x: Any, axes: Any = None) -> Any:
    order = tuple(reversed(range(x.ndim))) if axes is None else tuple(d % x.ndim for d in axes)
    if isinstance(x, CompressedArray):
        if order == (0, 1):
            return x
        other = "csc" if x.kind == "csr" else "csr"
        return CompressedArray(other, x.starts, x.others, x.values, x.shape[::-1])
    return transposed(x, order)


def _swapaxes(x: Any, a: int, b: int) -> Any:
    order = list(range(x.ndim))
    order[a], order[b] = order[b], order[a]
    return _transpose(x, order)


def _zeros_like(
    x: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> Any:
    if shape is not None and tuple(shape) != x.shape:
        return np.zeros(shape, dtype or x.dtype)
    found = empty(x.shape, dtype or x.dtype, getattr(x, "sparse_dim", None))
    return compressed(found, x.kind) if isinstance(x, CompressedArray) else found


def _copyto(target: Any, source: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if not is_sparse(target):
        np.copyto(target, as_dense(source), casting=casting)
    elif not is_sparse(source) and np.ndim(source) == 0 and not source:
        target.become(_zeros_like(target))
    elif type(source) is type(target):
        target.become(source.astype(target.dtype))
    else:
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented!")


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **MOVES,
    np.sum: _sum,
    np.copy: lambda x, order="K", subok=False: x.copy(),
    np.astype: lambda x, dtype, copy=True, **_: x.astype(dtype, copy=copy),
    np.transpose: _transpose,
    np.swapaxes: _swapaxes,
    np.matrix_transpose: lambda x: _swapaxes(x, -2, -1),
    np.zeros_like: _zeros_like,
    np.empty_like: _zeros_like,
    np.copyto: _copyto,
    np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim,
    np.size: lambda x: x.size,
    np.dot: product,
    np.real: lambda x: x.of_values(np.real(x.values)),
    np.any: _any,
}
__all__ = ["FUNCTIONS", "UFUNCS", "SparseArray", "on_values", "product", "scipy_of", "summed"]
