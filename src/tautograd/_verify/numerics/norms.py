"""The norms of many tensors, read from the device at once.

Reading a number from a tensor on an accelerator synchronises with it; reading all the norms from one
tensor synchronises once. Squares are summed in float64, so that a norm overflows or vanishes only where
its tensor does; a norm of 0 or a non-finite one is recomputed, scaled by the largest number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..subject.engines import engine_of


def norms_of(tensors: Sequence[Any]) -> list[float]:
    """The 2-norm of each tensor: `nan` if it holds one, `inf` only if it holds one."""
    found = [0.0] * len(tensors)
    for places in _by_device(tensors).values():
        group = [_real(tensors[i]) for i in places]
        norms = _read_at_once(group, 2.0)
        doubted = [k for k, norm in enumerate(norms) if not 0.0 < norm < math.inf]
        doubted = [k for k in doubted if group[k].numel()]
        largest = _read_at_once([group[k] for k in doubted], math.inf)
        for k, size in zip(doubted, largest, strict=True):
            norms[k] = _scaled(group[k], size) if 0.0 < size < math.inf else size
        for i, norm in zip(places, norms, strict=True):
            found[i] = norm
    return found


def _by_device(tensors: Sequence[Any]) -> dict[Any, list[int]]:
    groups: dict[Any, list[int]] = {}
    for i, tensor in enumerate(tensors):
        groups.setdefault((str(tensor.device), str(tensor.dtype)), []).append(i)
    return groups


def _real(tensor: Any) -> Any:
    """A tensor's numbers as real ones: complex as pairs, sparse without its zeros."""
    tensor = tensor.detach()
    if getattr(tensor, "is_sparse", False):
        tensor = tensor.coalesce().values()
    if tensor.is_complex():
        tensor = engine_of([tensor]).view_as_real(tensor.resolve_conj())
    return tensor


def _read_at_once(tensors: list[Any], order: float) -> list[float]:
    """The norms of tensors with the same device and dtype."""
    if not tensors:
        return []
    torch = engine_of(tensors)
    wide = torch.float32 if tensors[0].device.type == "mps" else torch.float64
    with torch.no_grad():
        together = getattr(torch, "_foreach_norm", None)
        if together is not None:
            norms = together(tensors, order, dtype=wide)
        else:
            norms = [torch.linalg.vector_norm(tensor, order, dtype=wide) for tensor in tensors]
        return [float(norm) for norm in torch.stack(list(norms)).tolist()]


def _scaled(tensor: Any, largest: float) -> float:
    """A norm whose squares overflow or underflow: computed from the tensor over its largest number."""
    torch = engine_of([tensor])
    with torch.no_grad():
        wide = tensor.cpu().to(torch.float64)
        return largest * float(torch.linalg.vector_norm(wide / largest, 2))
