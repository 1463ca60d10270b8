"""`torch._C._functorch`: questions about batches inside `vmap`.

PyTorch runs an operation that has no rule for batches once per example, unless that is switched off. Here every
operation computes on batches, so there is nothing to switch; what is set is kept.
"""

from __future__ import annotations

from typing import Any

from .._arrays.batching.batched import BatchedArray
from .._tensor.tensor import Tensor

_fallback = [True]


def _is_vmap_fallback_enabled() -> bool:
    """Whether an operation without a rule for batches may run once per example: there is none."""
    return _fallback[0]


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    _fallback[0] = bool(enabled)


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor stands for one example of a batch, inside `vmap`."""
    return isinstance(tensor, Tensor) and isinstance(tensor._data, BatchedArray)
