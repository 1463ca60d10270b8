"""Arguments that creation functions share (sizes, dtypes, numbers), with PyTorch's errors."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from .._arrays.devices import as_device, creator, default, moved
from .._arrays.dtypes import LEGACY_NAMES, as_dtype, dtype, number_of
from .._arrays.formats import layout, strided
from .._autograd.modes import modes
from .tensor import Tensor, make

# C's names of the types, as they appear in PyTorch's overflow errors.
_C_NAMES = {
    "uint8": "uint8_t", "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t",
    "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t",
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
}  # fmt: skip


def type_name(value: Any) -> str:
    """A type as PyTorch's argument errors name it."""
    kind = type(value)
    if kind.__module__ == "numpy" or kind.__module__.startswith("numpy."):
        return f"numpy.{kind.__name__}"
    return kind.__name__


def require_strided(name: str, given: Any) -> None:
    """Refuse a layout that a function's result cannot have."""
    if given is None or given is strided:
        return
    if not isinstance(given, layout):
        raise TypeError(f"{name}(): argument 'layout' must be torch.layout, not {type_name(given)}")
    raise NotImplementedError(f"Could not run 'aten::{name}' for the layout {given}")


def as_size(name: str, size: Any, argument: str = "size", single: bool = True) -> tuple[int, ...]:
    """A shape from `(2, 3)`, `((2, 3),)` or a Size; NumPy integers and 0-dim integer tensors are accepted."""
    if single and len(size) == 1:
        only = size[0]
        if type(only) is int:
            return (only,)
        if isinstance(only, (tuple, list)):
            size = only
        else:
            try:
                return (_extent(only),)
            except TypeError:
                raise TypeError(
                    f"{name}(): argument '{argument}' (position 1) must be tuple of ints, not "
                    f"{type_name(only)}"
                ) from None
    found = []
    for position, extent in enumerate(size):
        if type(extent) is int:
            found.append(extent)
            continue
        try:
            found.append(_extent(extent))
        except TypeError:
            if position == 0:
                raise TypeError(
                    f"{name}(): argument '{argument}' (position 1) must be tuple of ints, but "
                    "found "
                    f"element of type {type_name(extent)} at pos 0"
                ) from None
            raise TypeError(
                f"{name}(): argument '{argument}' failed to unpack the object at pos "
                f"{position + 1} "
                f'with error "type must be tuple of ints,but got {type_name(extent)}"'
            ) from None
    return tuple(found)


def _extent(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, Tensor) and value._data.ndim):
        raise TypeError
    if isinstance(value, np.ndarray) and (value.ndim or value.dtype.kind not in "iu"):
        raise TypeError
    return operator.index(value)


def checked_size(name: str, size: Any, single: bool = True) -> tuple[int, ...]:
    """A shape without negative extents."""
    found = as_size(name, size, single=single)
    for extent in found:
        if extent < 0:
            if name in ("zeros", "ones"):
                raise RuntimeError(f"{name}: Dimension size must be non-negative.")
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {extent}: {list(found)}"
            )
    return found


def size_argument(name: str, size: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    """The sizes of a variadic function, passed by position or as `size=`."""
    if "size" in options:
        if size:
            raise TypeError(f"{name}() got multiple values for argument 'size'")
        return (options.pop("size"),)
    if not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    return size


def wanted_dtype(name: str, value: Any) -> dtype | None:
    if value is None or isinstance(value, dtype):
        return value
    try:
        return as_dtype(value)
    except TypeError:
        raise TypeError(
            f"{name}(): argument 'dtype' must be torch.dtype, not {type_name(value)}"
        ) from None


def place(device: Any = None) -> Any:
    """The array module of a device; the default device if None."""
    return creator(as_device(device))


def put(array: Any, device: Any) -> Any:
    """Move an array made on the CPU to the requested device, or to the default one."""
    if device is None and default.device is None:
        return array
    return moved(array, as_device(device))


def number(name: str, value: Any, argument: str, position: int) -> Any:
    """A Python number from a number, a NumPy scalar or a 0-dim tensor."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, np.generic):
        return float(value.real) if isinstance(value, (np.bool_, np.complex64)) else value.item()
    if isinstance(value, Tensor) and not value._data.ndim:
        return value._data.item()
    raise TypeError(
        f"{name}(): argument '{argument}' (position {position}) must be Number, not "
        f"{type_name(value)}"
    )


def as_element(value: Any, kind: dtype) -> Any:
    """A number as an element of a dtype: wraps a negative into an unsigned one, raises on overflow."""
    target = kind.numpy
    if target.kind == "b":
        return bool(value)
    if isinstance(value, complex) and target.kind != "c":
        if value.imag:
            raise overflow(kind)
        value = value.real
    if target.kind in "iu":
        if isinstance(value, float):
            if not abs(value) < float("inf") or (target.kind == "u" and value < 0):
                raise overflow(kind)
            value = int(value)
        limits = np.iinfo(target)
        # An unsigned type takes negative numbers whose magnitude fits, as C does.
        low = -int(limits.max) if target.kind == "u" else int(limits.min)
        if not low <= value <= int(limits.max):
            raise overflow(kind)
        return target.type(value & int(limits.max)) if target.kind == "u" else target.type(value)
    if target.kind != "c" and isinstance(value, (int, float)):
        highest = _highest(kind)
        if abs(value) > highest and abs(value) != float("inf"):
            raise overflow(kind)
    return number_of(value, target)


@functools.cache
def _highest(kind: dtype) -> float:
    import ml_dtypes

    return float(ml_dtypes.finfo(kind.numpy).max)  # type: ignore[no-untyped-call]


def overflow(kind: dtype) -> RuntimeError:
    name = _C_NAMES.get(kind.name, LEGACY_NAMES[kind])
    return RuntimeError(f"value cannot be converted to type {name} without overflow")


def refuse_pinned() -> None:
    """Raise an error if there is no accelerator to pin memory for."""
    from .._arrays.devices import cuda_backend

    if cuda_backend() is not None:
        return
    raise RuntimeError(
        "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator "
        "is available on this system."
    )


def finish(array: Any, requires_grad: bool) -> Tensor:
    """A tensor around a new array."""
    out = make(array)
    if requires_grad:
        require_differentiable(out)
        out._requires_grad = True
    if modes.inference:
        from .._autograd.inference import as_inference

        as_inference(out)
    return out


def require_differentiable(tensor: Tensor) -> None:
    if tensor._data.dtype.kind not in "fcV":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
