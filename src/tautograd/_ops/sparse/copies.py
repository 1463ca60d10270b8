"""Copies of sparse tensors, for `copy`, `pickle` and files: their parts, and what puts them together again."""

from __future__ import annotations

import copy
from typing import Any

from ..._arrays.sparse.compressed import CompressedArray
from ..._arrays.sparse.coo import CooArray
from ..._tensor.tensor import Tensor, make
from .creation import sparse_coo_tensor, sparse_csc_tensor, sparse_csr_tensor

MAKERS: dict[str, Any] = {
    "torch.sparse_coo": sparse_coo_tensor,
    "torch.sparse_csr": sparse_csr_tensor,
    "torch.sparse_csc": sparse_csc_tensor,
}


def parts_of(tensor: Tensor) -> tuple[Any, ...]:
    """The arrays of a sparse tensor, as dense tensors."""
    data = tensor._data
    if isinstance(data, CooArray):
        return make(data.indices), make(data.values)
    return make(data.starts), make(data.others), make(data.values)


def put_together(
    layout: str, parts: tuple[Any, ...], shape: Any, coalesced: bool = False
) -> Tensor:
    """A sparse tensor of parts that are checked to fit."""
    options = {"is_coalesced": coalesced} if layout == "torch.sparse_coo" else {}
    made: Tensor = MAKERS[layout](*parts, size=shape, **options)
    return made


def rebuilt(
    cls: Any, layout: str, parts: tuple[Any, ...], shape: Any, coalesced: bool, requires_grad: bool
) -> Any:
    """What `pickle` calls."""
    found: Any = put_together(layout, parts, shape, coalesced)
    if cls is not None:
        from ..._tensor.creation import subclass_of

        found = subclass_of(cls, found)
    found.requires_grad = requires_grad
    return found


def reduced(tensor: Tensor) -> tuple[Any, ...]:
    """What `pickle` writes of a sparse tensor."""
    data = tensor._data
    cls = None if type(tensor) is Tensor else type(tensor)
    coalesced = bool(getattr(data, "coalesced", False))
    state = (cls, str(tensor.layout), parts_of(tensor), tuple(data.shape), coalesced)
    return rebuilt, (*state, tensor.requires_grad)


def copied(tensor: Tensor, memo: dict[int, Any]) -> Any:
    """What `copy.deepcopy` makes of a sparse leaf."""
    from ..._tensor.creation import subclass_of

    data = tensor._data
    if isinstance(data, CooArray):
        fresh: Any = CooArray(data.indices.copy(), data.values.copy(), data.shape, data.coalesced)
    else:
        parts = (data.starts.copy(), data.others.copy(), data.values.copy())
        fresh = CompressedArray(data.kind, *parts, data.shape)
    made: Any = make(fresh)
    out = made if type(tensor) is Tensor else subclass_of(type(tensor), made)
    out._requires_grad = tensor._requires_grad
    memo[id(tensor)] = out
    if tensor._grad is not None:
        out._grad = copy.deepcopy(tensor._grad, memo)
    return out
