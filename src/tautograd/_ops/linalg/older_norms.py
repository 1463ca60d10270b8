"""`torch.frobenius_norm`: a norm of matrices by its older name."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from ..declare.guarding import by_signature
from ..declare.public import LINALG


@by_signature
def frobenius_norm(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """The square root of the sum of squares over one or two dimensions."""
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) > 2:
        raise RuntimeError(
            f"Expected at most 2 dimensions, but got {len(dims)} dimensions instead."
        )
    return LINALG["vector_norm"](input, 2, dims or None, keepdim)  # type: ignore[no-any-return]
