"""Places by number and by coordinates: `unravel_index`, and `nonzero_static` with a shape known beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, make


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The coordinates, in an array of `shape`, of elements that are given by their number."""
    if not isinstance(indices, Tensor):
        raise TypeError(
            f"unravel_index(): argument 'indices' must be Tensor, not {type(indices).__name__}"
        )
    if indices._data.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    extents = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if any(not isinstance(n, (int, np.integer)) for n in extents):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    if any(n < 0 for n in extents):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(extents)}")
    found, rest = [], indices._data
    for extent in reversed(extents):
        found.append(make(rest % extent))
        rest = rest // extent
    return tuple(reversed(found))


def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The places of the first `size` elements that are not zero; rows of `fill_value` make up the rest."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    places = np.argwhere(input._data)[:size]
    out = np.full((size, input._data.ndim), fill_value, np.int64)
    out[: len(places)] = places
    return make(out)
