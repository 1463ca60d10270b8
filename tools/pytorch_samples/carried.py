"""Serialises arguments and results between two processes that have different engines.

A tensor becomes an array with its dtype, strides and `requires_grad`; dtypes, devices, layouts and
sizes become their names; numbers, strings and nests are kept. What cannot be serialised (a generator, a
function) raises `NotCarried`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

# Dtypes that NumPy lacks are sent as integers of their width.
_BITS = {"bfloat16": "int16"}
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))


class NotCarried(Exception):
    """A value that cannot be passed to the other engine."""


@dataclass
class CarriedTensor:
    array: Any
    dtype: str
    strides: tuple[int, ...]
    requires_grad: bool

    def wide(self) -> Any:
        """Its values as float64 or complex128, integers unchanged."""
        if self.dtype == "bfloat16":
            bits = self.array.astype(np.int32) << 16
            return bits.view(np.float32).astype(np.float64)
        kind = self.array.dtype.kind
        return self.array.astype({"f": np.float64, "c": np.complex128}.get(kind, self.array.dtype))


@dataclass
class Named:
    """A named object of the engine's: a dtype, a layout, a memory format."""

    name: str


@dataclass
class CarriedSize:
    sizes: tuple[int, ...]


def packed(value: Any, engine: Any) -> Any:
    """A nest of an engine's values, in serialised form."""
    if isinstance(value, engine.Tensor):
        return _packed_tensor(value, engine)
    if isinstance(value, engine.Size):
        return CarriedSize(tuple(value))
    if isinstance(value, engine.dtype | engine.layout | engine.memory_format):
        return Named(str(value).rpartition(".")[2])
    if isinstance(value, engine.device):
        return str(value)
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, slice):
        return slice(*(packed(v, engine) for v in (value.start, value.stop, value.step)))
    if isinstance(value, dict):
        return {packed(k, engine): packed(v, engine) for k, v in value.items()}
    if isinstance(value, tuple | list):
        parts = [packed(v, engine) for v in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, np.ndarray | np.generic):
        return value
    raise NotCarried(type(value).__name__)


def _packed_tensor(tensor: Any, engine: Any) -> CarriedTensor:
    if tensor.layout != engine.strided or tensor.device.type != "cpu":
        raise NotCarried(f"a tensor of {tensor.layout} on {tensor.device}")
    dtype = str(tensor.dtype).rpartition(".")[2]
    plain = tensor.detach().resolve_conj().resolve_neg()
    if dtype in _BITS:
        plain = plain.view(getattr(engine, _BITS[dtype]))
    return CarriedTensor(
        np.array(plain.numpy()), dtype, tuple(tensor.stride()), bool(tensor.requires_grad)
    )


def unpacked(value: Any, engine: Any, *, wide: bool = False) -> Any:
    """Values of an engine from serialised ones; `wide` makes floating-point tensors float64 or complex128."""
    if isinstance(value, CarriedTensor):
        return _unpacked_tensor(value, engine, wide=wide)
    if isinstance(value, CarriedSize):
        return engine.Size(value.sizes)
    if isinstance(value, Named):
        name = value.name
        if wide:
            name = _WIDE.get(name, name)
        return getattr(engine, name)
    if isinstance(value, slice):
        return slice(*(unpacked(v, engine) for v in (value.start, value.stop, value.step)))
    if isinstance(value, dict):
        return {k: unpacked(v, engine, wide=wide) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(unpacked(v, engine, wide=wide) for v in value)
    return value


_WIDE = {
    "float32": "float64", "bfloat16": "float64", "float16": "float64", "complex64": "complex128",
}  # fmt: skip


def _unpacked_tensor(carried: CarriedTensor, engine: Any, *, wide: bool) -> Any:
    dtype = carried.dtype
    if wide and dtype in _WIDE:
        made = engine.from_numpy(np.array(carried.wide()))
    else:
        made = engine.from_numpy(carried.array.copy())
        if dtype in _BITS:
            made = made.view(engine.bfloat16)
    if _needs_strides(carried):
        placed = engine.empty_strided(made.shape, carried.strides, dtype=made.dtype)
        made = placed.copy_(made)
    return made.requires_grad_(carried.requires_grad)


def _needs_strides(carried: CarriedTensor) -> bool:
    """Whether the tensor's memory layout is not row-major, with each element in a place of its own."""
    order = sorted(zip(carried.strides, carried.array.shape, strict=True))
    reach = 1
    for stride, size in order:
        if size > 1 and stride < reach:
            return False  # elements share memory, so they cannot be written one by one
        reach = max(reach, stride * size)
    row = 1
    for stride, size in zip(reversed(carried.strides), reversed(carried.array.shape), strict=True):
        if size > 1 and stride != row:
            return bool(carried.array.size)
        row *= size
    return False
