"""Integers that LAPACK and SciPy use as indices into memory, validated just before they are passed on.

Those libraries trust them. Operations have validated them earlier, where the error can be reported well; but
memory may have been changed untraceably since then (`index.data[0] = …`), and an unchecked index may crash the
process.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def summed_rows(values: Any, index: Any, count: int) -> Any:
    """Add each row of a matrix to the row that `index` names, of `count` rows: a product with zeros and ones."""
    from scipy.sparse import csc_array

    rows = len(values)
    check_rows(index, count)
    ones = np.ones(rows, values.dtype)
    return csc_array((ones, index, np.arange(rows + 1)), shape=(count, rows)) @ values


def check_rows(index: Any, count: int) -> None:
    """Refuse row indices that are out of range; negative ones too, since they are used as offsets into memory."""
    if index.size and (index.min() < 0 or index.max() >= count):
        raise IndexError("index out of range in self")


def check_ldl_pivots(pivots: Any) -> None:
    """Refuse pivots that point outside their matrix; negative ones name adjacent blocks of two."""
    wanted = None
    sizes = np.abs(pivots.astype(np.int64))
    if (sizes < 1).any():
        wanted = "must all satisfy |pivot| >= 1"
    elif (sizes > pivots.shape[-1]).any():
        wanted = "must all satisfy |pivot| <= LD.size(-2)"
    elif not all(map(_is_in_pairs, pivots.reshape(-1, pivots.shape[-1]) if pivots.size else ())):
        wanted = "must come in pairs if they are negative"
    if wanted is not None:
        raise RuntimeError(
            f"Pivots given to ldl_solve {wanted}. Did you properly pass the result of ldl_factor?"
        )


def _is_in_pairs(row: Any) -> bool:
    """Whether every run of negative pivots has even length."""
    ends = np.flatnonzero(np.diff(row < 0, prepend=False, append=False))
    return not (np.diff(ends)[::2] % 2).any()
