"""Places as indices: `unravel_index`, and `nonzero_static`, which finds as many as it is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._arrays.dtypes import LEGACY_NAMES, int64
from ..._tensor.tensor import Tensor, make
from ..declare.elementwise_calls import require_tensor
from ..declare.public import FUNCTIONS, public


@public(method=False, out=False)
def unravel_index(indices: Any, shape: Any) -> tuple[Tensor, ...]:
    """The index along each dimension of a shape, of places counted through all of it."""
    require_tensor("unravel_index", indices, "indices")
    if indices._data.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    for extent in extents:
        if isinstance(extent, bool) or not isinstance(extent, int):
            raise TypeError(
                f"expected 'shape' sequence to only contain ints, but got {type(extent)}"
            )
    if any(extent < 0 for extent in extents):
        raise ValueError(f"'shape' cannot have negative values, but got {extents}")
    found: list[Tensor] = []
    rest = indices.long()
    for extent in reversed(extents):
        found.append(rest.remainder(extent))
        rest = rest.div(extent, rounding_mode="floor")
    return tuple(reversed(found))


def _long_out(name: str, args: Any, kwargs: Any, out: Any) -> Any:
    _check_size(kwargs.get("size", args[1] if len(args) > 1 else 0))
    if isinstance(out, Tensor) and out.dtype is not int64:
        raise RuntimeError(
            "nonzero_static: Expected out tensor to have scalar type Long but got scalar type"
            f"{LEGACY_NAMES[out.dtype]}"
        )
    return args


def _check_size(size: Any) -> None:
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")


@public(out=_long_out)
def nonzero_static(input: Any, *, size: int, fill_value: int = -1) -> Tensor:
    """Indices of the first `size` elements that are not zero, a row each; more rows hold `fill_value`."""
    require_tensor("nonzero_static", input)
    _check_size(size)
    found = FUNCTIONS["nonzero"](input)._data[:size]
    rows = np.full_like(found, fill_value, shape=(size, found.shape[1]))
    rows[: found.shape[0]] = found
    return make(rows)
