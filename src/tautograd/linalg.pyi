"""Linear algebra, for type checkers.

Written by tools/make_stubs.py from what the package offers: not to be edited.
"""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import type as _type
from collections.abc import Callable, Iterator, Sequence
from types import EllipsisType
from typing import Any, Literal, overload

import numpy as np

from . import return_types
from ._arrays.devices import device as _device
from ._arrays.dtypes import dtype as _dtype
from ._arrays.formats import layout as _layout
from ._arrays.formats import memory_format as _memory_format
from ._autograd.hooks import RemovableHandle
from ._tensor.random_state import Generator
from ._tensor.storages import TypedStorage, UntypedStorage
from ._tensor.tensor import Size, Tensor
from ._types import DeviceLike, Dims, Ints, Number, TensorOrNumber, Tensors
from tautograd._ops.linalg.matrix_checks import _LinAlgError as LinAlgError

def cholesky(input: Tensor, *, upper: _bool=False, out: Tensor | None=None) -> Tensor:
    """The lower triangular L with `L @ L.mH = A` (or the upper U with `U.mH @ U = A`)."""

def cholesky_ex(input: Tensor, *, upper: _bool=False, check_errors: _bool=False, out: Tensors | None=None) -> return_types.linalg_cholesky_ex:
    """The Cholesky factor, and for each matrix the order of the minor that fails (or 0)."""

def cond(input: Tensor, p: _float | str | None=None, *, out: Tensor | None=None) -> Tensor:
    """How much a matrix may magnify relative errors: the norm of A times that of its inverse."""

def cross(input: Tensor, other: TensorOrNumber, *, dim: _int=-1, out: Tensor | None=None) -> Tensor:
    """The vector product of three-dimensional vectors along `dim`."""

def det(A: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The determinant of square matrices."""

def diagonal(A: Tensor, *, offset: _int=0, dim1: _int=-2, dim2: _int=-1) -> Tensor:
    """The diagonals of matrices, as a view."""

def eig(input: Tensor, *, out: Tensors | None=None) -> return_types.linalg_eig:
    """Eigenvalues and eigenvectors of square matrices, as complex numbers."""

def eigh(input: Tensor, UPLO: str='L', *, out: Tensors | None=None) -> return_types.linalg_eigh:
    """Eigenvalues (ascending) and eigenvectors of Hermitian matrices; one triangle is read."""

def eigvals(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The eigenvalues of square matrices, as complex numbers."""

def eigvalsh(input: Tensor, UPLO: str='L', *, out: Tensor | None=None) -> Tensor:
    """The eigenvalues of Hermitian matrices, in ascending order."""

def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The first columns of the product of the reflections that the columns of `input` hold."""

def inv(A: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The inverse of square matrices."""

def inv_ex(A: Tensor, *, check_errors: _bool=False, out: Tensors | None=None) -> return_types.linalg_inv_ex:
    """The inverse, and for each matrix the place of the first zero pivot (or 0)."""

def ldl_factor(A: Tensor, *, hermitian: _bool=False, out: Tensors | None=None) -> return_types.linalg_ldl_factor:
    """L and D in one array, and LAPACK's pivots."""

def ldl_factor_ex(A: Tensor, *, hermitian: _bool=False, check_errors: _bool=False, out: Tensors | None=None) -> return_types.linalg_ldl_factor_ex:
    """L and D in one array, LAPACK's pivots, and the place of the first zero block of D (or 0)."""

def ldl_solve(LD: Any, pivots: Tensor, B: Tensor, *, hermitian: _bool=False, out: Tensor | None=None) -> Tensor:
    """X with `A @ X = B`, from what `ldl_factor` made of A."""

def lstsq(input: Tensor, b: Tensor, rcond: TensorOrNumber | None=None, *, driver: str | None=None, out: Tensors | None=None) -> return_types.linalg_lstsq:
    """The X that makes `|A @ X - B|` least, the shortest if there are several."""

def lu(A: Tensor, *, pivot: _bool=True, out: Tensors | None=None) -> tuple[Tensor, ...]:
    """A permutation P, L lower triangular with ones, U upper triangular, with `A = P @ L @ U`."""

def lu_factor(A: Tensor, *, pivot: _bool=True, out: Tensors | None=None) -> return_types.linalg_lu_factor:
    """L and U in one array, and LAPACK's pivots."""

def lu_factor_ex(A: Tensor, *, pivot: _bool=True, check_errors: _bool=False, out: Tensors | None=None) -> return_types.linalg_lu_factor_ex:
    """L and U in one array, LAPACK's pivots, and the place of the first zero pivot (or 0)."""

def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: _bool=True, adjoint: _bool=False, out: Tensor | None=None) -> Tensor:
    """X with `A @ X = B` (or `X @ A = B`), given what `linalg.lu_factor` makes of A."""

def matmul(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The matrix product: of vectors, matrices, or batches of matrices broadcast together."""

def matrix_exp(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The exponential of square matrices: the sum of A^k / k!."""

def matrix_norm(input: Tensor, ord: _float | str='fro', dim: Dims=(-2, -1), keepdim: _bool=False, *, dtype: _dtype | None=None, out: Tensor | None=None) -> Tensor:
    """A norm of matrices: "fro", "nuc", or 1, 2, inf and their negatives."""

def matrix_power(input: Tensor, n: _int, *, out: Tensor | None=None) -> Tensor:
    """The n-th power of square matrices, by squaring; negative powers are those of the inverse."""

def matrix_rank(input: Tensor, tol: Number | None=None, hermitian: _bool=False, *, atol: TensorOrNumber | None=None, rtol: TensorOrNumber | None=None, out: Tensor | None=None) -> Tensor:
    """How many singular values count as other than zero."""

def multi_dot(tensors: Tensors, *, out: Tensor | None=None) -> Tensor:
    """The product of a chain of matrices, in the order that takes the fewest multiplications."""

def norm(input: Tensor, ord: _float | str | None=None, dim: Dims | None=None, keepdim: _bool=False, *, dtype: _dtype | None=None, out: Tensor | None=None) -> Tensor:
    """A vector norm, or a matrix norm where two dimensions (or none, of a matrix) are given."""

def pinv(input: Tensor, rcond: TensorOrNumber | None=None, hermitian: _bool=False, *, atol: TensorOrNumber | None=None, rtol: TensorOrNumber | None=None, out: Tensor | None=None) -> Tensor:
    """The pseudo-inverse: of A's singular values only those above a threshold are inverted."""

def qr(A: Tensor, mode: str='reduced', *, out: Tensors | None=None) -> return_types.linalg_qr:
    """Q with orthonormal columns and R upper triangular, with `A = Q @ R`."""

def slogdet(A: Tensor, *, out: Tensors | None=None) -> return_types.linalg_slogdet:
    """The sign of the determinant and the logarithm of its absolute value."""

def solve(A: Tensor, B: Tensor, *, left: _bool=True, out: Tensor | None=None) -> Tensor:
    """X with `A @ X = B` (or `X @ A = B`), for matrices, vectors and batches of them."""

def solve_ex(A: Tensor, B: Tensor, *, left: _bool=True, check_errors: _bool=False, out: Tensors | None=None) -> return_types.linalg_solve_ex:
    """`solve`, and for each matrix the place of the first zero pivot (or 0)."""

def solve_triangular(input: Tensor, B: Tensor, *, upper: _bool, left: _bool=True, unitriangular: _bool=False, out: Tensor | None=None) -> Tensor:
    """X with `A @ X = B` (or `X @ A = B`) for triangular A; the other triangle is not read."""

def svd(A: Tensor, full_matrices: _bool=True, *, driver: str | None=None, out: Tensors | None=None) -> return_types.linalg_svd:
    """U, S and V^H with `A = U @ diag(S) @ Vh`, the singular values S in descending order."""

def svdvals(A: Tensor, *, driver: str | None=None, out: Tensor | None=None) -> Tensor:
    """The singular values of matrices, in descending order."""

def tensorinv(input: Tensor, ind: _int=2, *, out: Tensor | None=None) -> Tensor:
    """The inverse with regard to `tensordot` over the first `ind` dimensions."""

def tensorsolve(input: Tensor, other: TensorOrNumber, dims: Ints | None=None, *, out: Tensor | None=None) -> Tensor:
    """X with `tensordot(input, X) = other`, over all dimensions of X."""

def vander(x: Tensor, *, N: _int | None=None) -> Tensor:
    """Each element's powers from 0 to N - 1, along a new last dimension."""

def vecdot(x: Tensor, y: Tensor, *, dim: _int=-1, out: Tensor | None=None) -> Tensor:
    """The inner product along a dimension, the first operand conjugated."""

def vector_norm(input: Tensor, ord: _float | str=2, dim: Dims | None=None, keepdim: _bool=False, *, dtype: _dtype | None=None, out: Tensor | None=None) -> Tensor:
    """(Σ |x|^ord)^(1/ord) over `dim`, or of everything."""
