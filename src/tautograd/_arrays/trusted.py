"""Whole numbers by which LAPACK and SciPy find their way in memory, looked at where they are handed over.

Those libraries trust them. Operations have looked at them before, where a program can be told what is wrong; but
memory may be changed without a trace since then (`index.data[0] = …`), and what is not looked at here may end the
process.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def summed_rows(values: Any, index: Any, count: int) -> Any:
    """Each row of a matrix added to the row that `index` names, of `count` rows: a product with ones and zeros."""
    from scipy.sparse import csc_array

    rows = len(values)
    check_rows(index, count)
    ones = np.ones(rows, values.dtype)
    return csc_array((ones, index, np.arange(rows + 1)), shape=(count, rows)) @ values


def check_rows(index: Any, count: int) -> None:
    """Refuse indices of rows that are not there; negative ones too, where places in memory are computed of them."""
    if index.size and (index.min() < 0 or index.max() >= count):
        raise IndexError("index out of range in self")


def check_ldl_pivots(pivots: Any) -> None:
    """Refuse pivots that lead out of their matrix; negative ones name blocks of two, one beside the other."""
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
    """Whether every run of negative pivots has an even number of them."""
    ends = np.flatnonzero(np.diff(row < 0, prepend=False, append=False))
    return not (np.diff(ends)[::2] % 2).any()
