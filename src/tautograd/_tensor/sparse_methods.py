"""Methods that make sparse tensors or query them, whose code is loaded by the first call."""

from __future__ import annotations

from typing import Any

from .._ops.declare.public import attach
from .tensor import Tensor

DOCS = {
    "_coalesced_": "Say whether each place is listed once, in order.",
    "_indices": "The places as they are listed.",
    "_nnz": "How many elements are listed.",
    "_values": "The elements as they are listed; not part of any graph.",
    "ccol_indices": "Where each column of a CSC matrix begins, and where the last one ends.",
    "coalesce": "Each place once and in order, with the sum of what stood there.",
    "col_indices": "The columns of what a CSR matrix holds.",
    "crow_indices": "Where each row of a CSR matrix begins, and where the last one ends.",
    "dense_dim": "How many dimensions what is held has.",
    "indices": "The places, one to a column.",
    "is_coalesced": "Whether each place is listed once, in order.",
    "row_indices": "The rows of what a CSC matrix holds.",
    "smm": "The product with a dense matrix, as a sparse tensor.",
    "sparse_dim": "How many dimensions a place fixes.",
    "sparse_mask": "This tensor at the places of a sparse one.",
    "sparse_resize_": "Give a sparse tensor another size, in place; what it holds must fit.",
    "sparse_resize_and_clear_": "Give a sparse tensor another size, in place, with nothing held.",
    "sspaddmm": "This sparse matrix plus the product of a sparse and a dense one, sparse.",
    "to_dense": "All elements, the zeros too; a dense tensor is itself.",
    "to_sparse": "A sparse copy: of coordinates, or in the layout that is named.",
    "to_sparse_coo": "A sparse copy of coordinates.",
    "to_sparse_csc": "A copy compressed by columns.",
    "to_sparse_csr": "A copy compressed by rows.",
    "values": "The elements that are held.",
}


def _later(name: str) -> Any:
    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        from .._ops.sparse.methods import METHODS

        found = METHODS[name]
        attach(name, found)
        return found(self, *args, **options)

    method.__name__, method.__doc__ = name, DOCS[name]
    return method


for _name in DOCS:
    attach(_name, _later(_name))
