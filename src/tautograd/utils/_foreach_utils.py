"""`torch.utils._foreach_utils`: lists of tensors in groups that `_foreach_*` functions take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__: list[str] = []


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Devices with kernels for lists, besides the CPU."""
    return ["cuda"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Devices for which optimizers take `fused=True`."""
    return ["cuda", "cpu"]


def _device_has_foreach_support(device: Any) -> bool:
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: Sequence[Any], device: Any) -> bool:
    from .. import Tensor
    from ..nn import Parameter

    return _device_has_foreach_support(device) and all(
        t is None or type(t) in (Tensor, Parameter) for t in tensors
    )


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Columns of several lists, grouped by the device and dtype of the tensor in the first; each with its place."""
    groups: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
    for place, column in enumerate(zip(*(x for x in tensorlistlist if x), strict=True)):
        first = column[0]
        lists, places = groups.setdefault(
            (first.device, first.dtype), ([[] for _ in tensorlistlist], [])
        )
        filled = iter(column)
        for target, source in zip(lists, tensorlistlist, strict=True):
            if source:  # an empty list, as of states that there are not, stays one
                target.append(next(filled))
        if with_indices:
            places.append(place)
    return groups
