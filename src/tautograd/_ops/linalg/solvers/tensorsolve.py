"""Tensors read as matrices: `tensorinv`, `tensorsolve`; and Vandermonde matrices."""

from __future__ import annotations

from math import prod
from typing import Any

from ...declare.elementwise_calls import require_tensor
from ...declare.public import LINALG, public
from ...shape.permutations import movedim
from ...shape.slices import diagonal
from ...shape.views import reshape_to
from ..products.product_checks import spoken
from .inverses import inv, solve


@public(method=False, namespace=LINALG)
def tensorinv(input: Any, ind: int = 2) -> Any:
    """The inverse with regard to `tensordot` over the first `ind` dimensions."""
    require_tensor("linalg_tensorinv", input)
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    shape = tuple(input._data.shape)
    rows, columns = prod(shape[:ind]), prod(shape[ind:])
    if rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {columns} != {rows}"
        )
    matrix = inv(reshape_to(input, (rows, columns)))
    return reshape_to(matrix, shape[ind:] + shape[:ind])


@public(method=False, namespace=LINALG)
def tensorsolve(input: Any, other: Any, dims: Any = None) -> Any:
    """X with `tensordot(input, X) = other`, over all dimensions of X."""
    require_tensor("linalg_tensorsolve", input)
    require_tensor("linalg_tensorsolve", other, "other", 2)
    if dims is not None:
        rank = input._data.ndim
        input = movedim(input, tuple(dims), tuple(range(rank - len(dims), rank)))
    shape, rank = tuple(input._data.shape), other._data.ndim
    size, columns = int(other._data.size), prod(shape[rank:])
    if size != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {columns} != {size}"
        )
    matrix = reshape_to(input, (size, size))
    return reshape_to(solve(matrix, reshape_to(other, (size,))), shape[rank:])


@public(method=False, namespace=LINALG, out=False)
def vander(x: Any, *, N: int | None = None) -> Any:
    """Each element's powers from 0 to N - 1, along a new last dimension."""
    require_tensor("linalg_vander", x, "x")
    kind = x.dtype
    if kind.is_half or kind.name == "bool":
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but got "
            f"{spoken(x)}"
        )
    if not x._data.ndim:
        x = x.unsqueeze(0)
    shape = x._data.shape
    count = shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    from ...shape.joining import cat

    column = x.unsqueeze(-1)
    powers = column.expand(*shape, count - 1).cumprod(-1)
    return cat((column.new_ones(column._data.shape), powers), -1)


@public("diagonal", method=False, namespace=LINALG, out=False)
def linalg_diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of matrices, as a view."""
    require_tensor("linalg_diagonal", A, "A")
    return diagonal(A, offset, dim1, dim2)
