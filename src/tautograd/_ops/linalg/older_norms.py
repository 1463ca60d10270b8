"""`torch.frobenius_norm` and `torch.nuclear_norm`: norms of matrices by their older names."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from ..declare.public import LINALG


def frobenius_norm(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """The square root of the sum of squares over one or two dimensions."""
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) > 2:
        raise RuntimeError(
            f"Expected at most 2 dimensions, but got {len(dims)} dimensions instead."
        )
    return LINALG["vector_norm"](input, 2, dims or None, keepdim)  # type: ignore[no-any-return]


def nuclear_norm(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The sum of the singular values of a matrix, or of those in two dimensions."""
    if isinstance(dim, bool):
        dim, keepdim = None, dim
    return LINALG["matrix_norm"](input, "nuc", (-2, -1) if dim is None else tuple(dim), keepdim)  # type: ignore[no-any-return]
