"""Splits a batch among several devices, and combines the results, in nests of any kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tautograd as torch

from ..._arrays.devices import device
from ..._ops.declare.python_surface import speak
from ..._tensor.tensor import Tensor

__all__ = ["gather", "scatter", "scatter_kwargs"]


def as_device(given: Any) -> Any:
    """A device from its index, its name or itself."""
    return device("cuda", given) if isinstance(given, int) else device(given)


def _is_namedtuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """A nest for each device, in which each tensor is that device's part of the original along `dim`."""
    if isinstance(inputs, Tensor):
        parts = inputs.chunk(len(target_gpus), dim)
        return tuple(
            part.to(as_device(where)) for part, where in zip(parts, target_gpus, strict=False)
        )
    if isinstance(inputs, (tuple, list)) and inputs:
        rows = zip(*(scatter(value, target_gpus, dim) for value in inputs), strict=False)
        make: Callable[..., Any] = type(inputs)
        return [make(*row) if _is_namedtuple(inputs) else make(row) for row in rows]
    if isinstance(inputs, dict) and inputs:
        columns = (scatter(value, target_gpus, dim) for value in inputs.values())
        return [type(inputs)(zip(inputs, row, strict=True)) for row in zip(*columns, strict=False)]
    return [inputs for _ in target_gpus]


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Positional and keyword arguments, split alike; the shorter of the two is padded with empty ones."""
    by_place = list(scatter(inputs, target_gpus, dim)) if inputs else []
    by_name = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    by_place.extend(() for _ in range(len(by_name) - len(by_place)))
    by_name.extend({} for _ in range(len(by_place) - len(by_name)))
    return tuple(by_place), tuple(by_name)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """Combine the nests of several devices into one, concatenating tensors along `dim`."""
    first = outputs[0]
    if isinstance(first, Tensor):
        _refuse_cpu("Gather", outputs)
        if all(not out.dim() for out in outputs) and dim == 0:
            outputs = [out.view(1) for out in outputs]
        return torch.cat([out.to(as_device(target_device)) for out in outputs], dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(out) != len(first) for out in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)(
            (key, gather([out[key] for out in outputs], target_device, dim)) for key in first
        )
    if isinstance(first, (str, bytes)):  # whose elements are strings again
        raise TypeError(
            f"gather: tensors, and nests of them, can be joined, not {type(first).__name__}"
        )
    columns = [gather(column, target_device, dim) for column in zip(*outputs, strict=True)]
    return type(first)(*columns) if _is_namedtuple(first) else type(first)(columns)


def _refuse_cpu(what: str, tensors: Any) -> None:
    if any(tensor.device.type == "cpu" for tensor in tensors):
        raise AssertionError(f"{what} function not implemented for CPU tensors")


speak(globals(), __all__)
