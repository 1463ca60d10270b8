"""Methods that lead to sparse tensors or ask about them: what they do is loaded by the first call."""

from __future__ import annotations

from typing import Any

from .._ops.declare.public import attach
from .tensor import Tensor

NAMES = (
    *(
        "_coalesced_",
        "_indices",
        "_nnz",
        "_values",
        "ccol_indices",
        "coalesce",
        "col_indices",
        "crow_indices",
    ),
    *("dense_dim", "indices", "is_coalesced", "row_indices", "smm", "sparse_dim", "sparse_mask"),
    *("sparse_resize_", "sparse_resize_and_clear_", "sspaddmm", "to_dense", "to_sparse"),
    *("to_sparse_coo", "to_sparse_csc", "to_sparse_csr", "values"),
)


def _later(name: str) -> Any:
    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        from .._ops.sparse.methods import METHODS

        found = METHODS[name]
        attach(name, found)
        return found(self, *args, **options)

    method.__name__ = name
    return method


for _name in NAMES:
    attach(_name, _later(_name))
