"""Matrices compressed by rows (CSR) or by columns (CSC): where each row begins, and the columns in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import SparseArray
from .coo import CooArray

LAYOUTS = ("csr", "csc")


class CompressedArray(SparseArray):
    """Row `i` holds `values[starts[i]:starts[i + 1]]`, in the columns `others` of the same range.

    With `kind` "csc" the two dimensions are swapped.
    """

    __slots__ = ("kind", "others", "starts")

    def __init__(self, kind: str, starts: Any, others: Any, values: Any, shape: Any) -> None:
        self.kind = kind
        self.starts, self.others, self.values = starts, others, values
        self.shape = tuple(shape)

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"Sparse{self.kind.title()}"

    @property
    def nnz(self) -> int:
        return int(self.others.shape[-1])

    def of_values(self, values: Any) -> CompressedArray:
        return CompressedArray(self.kind, self.starts, self.others, values, self.shape)

    def scipy(self) -> Any:
        """As a SciPy matrix."""
        self.require_places("addmm.out")
        from scipy import sparse

        maker = sparse.csr_array if self.kind == "csr" else sparse.csc_array
        matrix = maker((self.values, self.others, self.starts), shape=self.shape)
        try:  # SciPy trusts the indices from here on, and users may write to them
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise RuntimeError(
                f"the indices of this sparse tensor do not fit it: {error}"
            ) from None
        return matrix

    def coo(self) -> CooArray:
        self.require_places("to_sparse")
        counts = np.diff(self.starts)
        own = np.repeat(np.arange(len(counts)), counts)
        pair = (own, self.others) if self.kind == "csr" else (self.others, own)
        found = CooArray(np.stack(pair).astype(np.int64), self.values, self.shape)
        if self.kind == "csr":
            found.coalesced = found.is_in_order()
        return found.coalesce()

    def _dense(self) -> Any:
        return self.coo().dense()


def compressed(array: Any, kind: str) -> CompressedArray:
    """Compress a COO matrix, or one compressed the other way, by rows or columns."""
    if isinstance(array, CompressedArray):
        if array.kind == kind:
            return array
        array = array.coo()
    array = array.coalesce()
    indices, values = array.indices, array.values
    own, others = (0, 1) if kind == "csr" else (1, 0)
    if kind == "csc":
        order = np.lexsort((indices[0], indices[1]))
        indices, values = indices[:, order], values[order]
    counts = np.bincount(indices[own], minlength=array.shape[own])
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return CompressedArray(kind, starts, indices[others].copy(), values, array.shape)
