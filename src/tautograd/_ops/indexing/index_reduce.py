"""`index_reduce`: slices that meet at one position become their product, mean or extreme.

It is `scatter_reduce` with one index for a whole slice.
"""

from __future__ import annotations

from typing import Any

from ..._arrays.checks import require_range
from ..._arrays.dtypes import LEGACY_NAMES
from ..._tensor.tensor import Tensor
from ..declare.dims import wrap_dim
from ..declare.public import public
from .index_arguments import out_of_range, require_tensors
from .scatter_reduce import scatter_reduce


@public(inplace=True)
def index_reduce(
    input: Any, dim: Any, index: Any, source: Any, reduce: Any, *, include_self: bool = True
) -> Tensor:
    """Reduce the slices of `source` that `index` sends to one: prod, mean, amax or amin."""
    require_tensors("index_reduce", input=input)
    require_tensors("index_reduce", index=index, source=source)
    dim = wrap_dim(dim, input._data.ndim, "index_reduce")
    _check(input, dim, index, source, reduce)
    if not input._data.ndim:
        return scatter_reduce(
            input, 0, index.reshape(()), source.reshape(()), reduce, include_self=include_self
        )
    around = [1] * input._data.ndim
    around[dim] = -1
    places = index.long().reshape(around).expand(tuple(source.shape))
    return scatter_reduce(input, dim, places, source, reduce, include_self=include_self)


def _check(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: Any) -> None:
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    kind = index.dtype
    if index._data.ndim > 1:
        raise IndexError(
            f"index_reduce_(): Index is supposed to be a vector, but got dim: {index._data.ndim} "
            f"with type: {LEGACY_NAMES[kind]} and size: {list(index.shape)}"
        )
    if kind.name not in ("int32", "int64"):
        raise RuntimeError(
            f"index_reduce_(): Expected dtype int32/int64 for index but got: {LEGACY_NAMES[kind]}"
        )
    if input.dtype is not source.dtype:
        raise RuntimeError(
            f"index_reduce_(): self ({LEGACY_NAMES[input.dtype]}) and source "
            f"({LEGACY_NAMES[source.dtype]}) must have the same scalar type"
        )
    given, own = tuple(source.shape), tuple(input.shape)
    along = given[dim] if given else 1
    if index.numel() != along:
        raise RuntimeError(
            f"index_reduce_(): Number of indices ({index.numel()}) should be equal to "
            f"source.size(dim): ({along}), for dim: {dim}"
        )
    if given[:dim] + given[dim + 1 :] != own[:dim] + own[dim + 1 :]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(own)} source.shape = {list(given)}"
        )
    size = own[dim] if own else 1
    require_range(index._data, 0, size, out_of_range, waits=True)
