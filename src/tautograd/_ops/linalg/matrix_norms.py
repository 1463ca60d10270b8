"""Norms, condition numbers and ranks of matrices, made of vector norms and singular values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.dtypes import LEGACY_NAMES, as_dtype, int64, promote_types
from ..._tensor.tensor import Tensor, make
from ..declare.dims import wrap_dim
from ..declare.elementwise_calls import require_tensor
from ..declare.public import LINALG, public
from ..reductions.vector_norms import vector_norm
from ..shape.squeeze import unsqueeze
from .decompositions.eigenvalues import eigvalsh
from .decompositions.singular_values import svdvals
from .matrix_checks import check_float, check_matrix, check_square
from .products.product_checks import spoken
from .solvers.inverses import inv_ex
from .solvers.least_squares import epsilon_of


def _pair(dim: Any) -> tuple[int, ...]:
    return (dim,) if isinstance(dim, int) else tuple(dim)


def _check_dtype(A: Any, dtype: Any) -> None:
    """A norm may be computed in a wider dtype of the same kind."""
    wanted = as_dtype(dtype)
    name = "linalg.matrix_norm"
    if not (wanted.is_floating_point or wanted.is_complex):
        raise RuntimeError(
            f"{name}: dtype should be floating point or complex, but got {LEGACY_NAMES[wanted]}"
        )
    if wanted.is_complex != A.dtype.is_complex:
        kind = "complex" if A.dtype.is_complex else "real"
        raise RuntimeError(
            f"{name}: dtype should be {kind} for {kind} inputs, but got {LEGACY_NAMES[wanted]}"
        )
    if promote_types(A.dtype, wanted) != wanted:
        raise RuntimeError(
            f"{name}: the dtype of the input ({spoken(A)}) should be convertible without narrowing "
            f"to the specified dtype ({LEGACY_NAMES[wanted]})"
        )


def _spoken_order(ord: Any) -> str:
    return f"{ord:g}" if isinstance(ord, (int, float)) else str(ord)


@public(method=False, namespace=LINALG)
def matrix_norm(
    input: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """A norm of matrices: "fro", "nuc", or 1, 2, inf and their negatives."""
    name = "linalg.matrix_norm"
    require_tensor("linalg_matrix_norm", input, "input")
    check_float(name, input)
    check_matrix(name, input)
    dims = _pair(dim)
    if len(dims) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {' '.join(str(d) for d in dims)}")
    first, second = (wrap_dim(d, input._data.ndim) for d in dims)
    if first == second:
        raise RuntimeError(f"{name}: dims must be different. Got ({first}, {second})")
    if isinstance(ord, complex):
        raise RuntimeError(
            "linalg.matrix_norm: Expected a non-complex scalar as the order of norm."
        )
    size = abs(ord) if isinstance(ord, (int, float)) else ord
    if size not in ("fro", "nuc", 1, 2, math.inf):
        raise RuntimeError(f"{name}: Order {_spoken_order(ord)} not supported.")
    if dtype is not None:
        _check_dtype(input, dtype)
    if size == "fro":
        return vector_norm(input, 2, (first, second), keepdim, dtype=dtype)
    if size in ("nuc", 2):
        check_float(name, input, low_precision=False)
        values = svdvals(
            (input if dtype is None else input.to(dtype)).movedim((first, second), (-2, -1))
        )
        return _restored(_of_values(values, ord, keepdim), first, second, keepdim)
    inner, outer = (first, second) if size == 1 else (second, first)
    if outer > inner and not keepdim:
        outer -= 1
    sums = vector_norm(input, 1.0, (inner,), keepdim, dtype=dtype)
    if ord < 0:
        return sums.amin(outer, keepdim)
    return sums.amax(outer, keepdim) if sums._data.shape[outer] else sums.sum(outer, keepdim)


@public(method=False)
def nuclear_norm(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The sum of singular values; `linalg.matrix_norm(input, "nuc")` by its old name."""
    require_tensor("nuclear_norm", input)
    if dim is None and input._data.ndim != 2:
        raise RuntimeError(
            f"nuclear_norm: Expected a tensor with 2 dimensions, but got a tensor with "
            f"{input._data.ndim} dimension{'' if input._data.ndim == 1 else 's'} instead."
        )
    return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim)


def _of_values(values: Any, ord: Any, keepdim: bool) -> Any:
    if ord == "nuc":
        return values.sum(-1, keepdim)
    if ord < 0:
        if not values._data.shape[-1]:
            raise IndexError("amin(): Expected reduction dim -1 to have non-zero size.")
        return values.amin(-1, keepdim)
    return values.amax(-1, keepdim) if values._data.shape[-1] else values.sum(-1, keepdim)


def _restored(result: Any, first: int, second: int, keepdim: bool) -> Any:
    """With `keepdim`: ones in the places of the two dimensions."""
    return result.unsqueeze(-1).movedim((-2, -1), (first, second)) if keepdim else result


@public(method=False, namespace=LINALG)
def norm(
    input: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """A vector norm, or a matrix norm where two dimensions (or none, of a matrix) are given."""
    require_tensor("linalg_norm", input, "A")
    dims = None if dim is None else _pair(dim)
    rank = input._data.ndim
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}"
        )
    if dims is None and ord is not None and rank not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. "
            f"Got {rank}D."
        )
    of_matrix = isinstance(ord, str) or (
        ord is not None and (len(dims) == 2 if dims is not None else rank == 2)
    )
    if of_matrix:
        return matrix_norm(input, ord, (0, 1) if dims is None and rank == 2 else dims or (-2, -1),
                           keepdim, dtype=dtype)  # fmt: skip
    return vector_norm(input, 2 if ord is None else ord, dims, keepdim, dtype=dtype)


# --- condition numbers ---------------------------------------------------------------------------


@public(method=False, namespace=LINALG)
def cond(input: Any, p: Any = None) -> Any:
    """How much a matrix may magnify relative errors: the norm of A times that of its inverse."""
    require_tensor("linalg_cond", input)
    if input._data.ndim < 2 and p in (None, 2, -2):
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p not in (None, "fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {_spoken_order(p)}")
    if input._data.ndim > 1 and not input._data.size:
        return _empty_condition(input)
    if p is None or p in (2, -2):
        values: Any = svdvals(input)
        largest, smallest = values.narrow(-1, 0, 1), values.narrow(-1, -1, 1)
        ratio = smallest / largest if p == -2 else largest / smallest
        return ratio.squeeze(-1)
    check_square(f"linalg.cond(ord={_spoken_order(p)})", input)
    if p == "nuc":
        values = svdvals(input)
        return values.sum(-1) * values.reciprocal().sum(-1)
    inverse, info = inv_ex(input)
    inverse = inverse.masked_fill((info > 0).unsqueeze(-1).unsqueeze(-1), math.inf)
    result = matrix_norm(input, p) * matrix_norm(inverse, p)
    # Nothing times infinity is what a matrix of zeros gives.
    return result.nan_to_num(math.inf, math.inf, -math.inf)


def _empty_condition(x: Any) -> Any:
    """Zero for matrices without elements, as PyTorch has it."""
    kind = x.abs().dtype if x._data.dtype.kind == "c" else x.dtype
    return x.new_zeros(tuple(x._data.shape[:-2]), dtype=kind)


# --- ranks ---------------------------------------------------------------------------------------


@public(method=False, namespace=LINALG)
def matrix_rank(
    input: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Any:
    """How many singular values count as other than zero."""
    require_tensor("linalg_matrix_rank", input)
    name = "torch.linalg.matrix_rank"
    check_matrix(name, input, "input")
    if input._data.dtype.char not in "fdFD":
        raise RuntimeError("This function doesn't handle types other than float and double")
    batch = tuple(input._data.shape[:-2])
    if not input._data.size:
        return input.new_zeros(batch, dtype=int64)
    if tol is not None:
        atol, rtol = tol, 0.0
    found: Any = eigvalsh(input.detach()) if hermitian else svdvals(input.detach())
    values = found.abs()
    if rtol is None:
        default = epsilon_of(input._data, *input._data.shape[-2:])
        rtol = default if atol is None else _unless_positive(atol, default)
    floor = 0.0 if atol is None else _column(atol)
    limit = values.amax(-1, True) * _column(rtol)
    limit = limit.clamp_min(floor) if not isinstance(floor, Tensor) else limit.maximum(floor)
    return (values > limit).sum(-1)


def _column(x: Any) -> Any:
    return unsqueeze(x, -1) if isinstance(x, Tensor) else x


def _unless_positive(atol: Any, default: float) -> Any:
    if isinstance(atol, Tensor):
        return make(np.where(atol._data > 0, 0.0, np.asarray(default, atol._data.dtype)))
    return 0.0 if atol > 0 else default
