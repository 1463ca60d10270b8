"""`torch._C._nn`: how the arguments of `.to(...)` are read."""

from __future__ import annotations

from typing import Any

from .._arrays.devices import as_device
from .._arrays.dtypes import dtype
from .._tensor.tensor import Tensor


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, dtype, non_blocking and memory format that `.to` was asked for."""
    place, kind = kwargs.get("device"), kwargs.get("dtype")
    flags = []
    for value in args:
        if isinstance(value, Tensor):
            place, kind = value.device, value.dtype
        elif isinstance(value, dtype):
            kind = value
        elif isinstance(value, bool):
            flags.append(value)
        elif value is not None:
            place = value
    non_blocking = bool(kwargs.get("non_blocking", flags[0] if flags else False))
    where = None if place is None else as_device(place)
    return where, kind, non_blocking, kwargs.get("memory_format")
