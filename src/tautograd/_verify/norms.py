"""The norm of each of many tensors, read from the device at once.

Asking a tensor on an accelerator for a number waits for it; asking one tensor of all the norms waits
once. Squares are summed in float64, so that a norm overflows or vanishes only where its tensor does;
a tensor whose norm comes out as 0 or not finite is looked at again by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .engines import engine_of


def norms_of(tensors: Sequence[Any]) -> list[float]:
    """The 2-norm of each tensor: `nan` if it holds one, `inf` only if it holds one."""
    found = [0.0] * len(tensors)
    for places in _by_device(tensors).values():
        group = [_real(tensors[i]) for i in places]
        for i, tensor, norm in zip(places, group, _read_at_once(group), strict=True):
            found[i] = norm if 0.0 < norm < math.inf else _carefully(tensor)
    return found


def _by_device(tensors: Sequence[Any]) -> dict[Any, list[int]]:
    groups: dict[Any, list[int]] = {}
    for i, tensor in enumerate(tensors):
        groups.setdefault((str(tensor.device), str(tensor.dtype)), []).append(i)
    return groups


def _real(tensor: Any) -> Any:
    """The numbers of a tensor as real ones: complex as pairs, sparse without its zeros."""
    tensor = tensor.detach()
    if getattr(tensor, "is_sparse", False):
        tensor = tensor.coalesce().values()
    if tensor.is_complex():
        tensor = engine_of([tensor]).view_as_real(tensor.resolve_conj())
    return tensor


def _read_at_once(tensors: list[Any]) -> list[float]:
    """The norms of tensors of one device and dtype."""
    torch = engine_of(tensors)
    wide = torch.float32 if tensors[0].device.type == "mps" else torch.float64
    with torch.no_grad():
        together = getattr(torch, "_foreach_norm", None)
        if together is not None:
            norms = together(tensors, 2, dtype=wide)
        else:
            norms = [torch.linalg.vector_norm(tensor, 2, dtype=wide) for tensor in tensors]
        return [float(norm) for norm in torch.stack(list(norms)).tolist()]


def _carefully(tensor: Any) -> float:
    """A norm whose squares do not fit: of the tensor over its largest number."""
    if tensor.numel() == 0:
        return 0.0
    torch = engine_of([tensor])
    with torch.no_grad():
        wide = tensor.detach().cpu().to(torch.float64)
        largest = float(wide.abs().max())
        if largest == 0.0 or not math.isfinite(largest):
            return largest
        return largest * float(torch.linalg.vector_norm(wide / largest, 2))
