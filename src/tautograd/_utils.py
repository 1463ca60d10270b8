"""`torch._utils`: how tensors in files are rebuilt, under the names that files have for it."""

from __future__ import annotations

from typing import Any

from ._tensor.tensor import Tensor

__all__ = ["_rebuild_parameter", "_rebuild_tensor_v2"]


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:
    """A tensor over a storage's memory."""
    from . import empty

    made: Tensor = empty(0, dtype=getattr(storage, "dtype", None))
    made.set_(storage, storage_offset, tuple(size), tuple(stride))
    made.requires_grad = requires_grad
    return made


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Any:
    """A parameter around a tensor."""
    from .nn.parameter import Parameter

    return Parameter(data, requires_grad)


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device; -1 for the CPU."""
    from ._arrays.devices import as_device

    if isinstance(device, int):
        return device
    place = as_device(device if device is not None else "cpu")
    if place.type == "cpu" and not (allow_cpu or optional):
        raise ValueError(f"Expected a non cpu device, but got: {place}")
    return -1 if place.index is None else int(place.index)


def _flatten_dense_tensors(tensors: Any) -> Tensor:
    """The elements of several tensors in one row."""
    from . import cat

    flat: Tensor = cat([t.contiguous().view(-1) for t in tensors])
    return flat


def _unflatten_dense_tensors(flat: Tensor, tensors: Any) -> tuple[Any, ...]:
    """A row of elements in the shapes of several tensors, as views of it."""
    parts: Any = flat.split([t.numel() for t in tensors])
    return tuple(part.view(t.shape) for part, t in zip(parts, tensors, strict=True))
