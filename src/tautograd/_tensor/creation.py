"""Tensors from Python data: `tensor`, `as_tensor`, `from_numpy`, the old constructors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays.devices import as_device
from .._arrays.dtypes import (
    as_dtype,
    bool_,
    complex64,
    complex128,
    dtype,
    float64,
    from_numpy_dtype,
    get_default_dtype,
    int64,
)
from .tensor import Tensor, make


def infer_dtype(array: np.ndarray) -> dtype:
    """The dtype Python numbers take: default float, int64, bool, the default's complex."""
    kind = array.dtype.kind
    if kind == "f":
        return get_default_dtype()
    if kind == "c":
        return complex128 if get_default_dtype() is float64 else complex64
    if kind == "b":
        return bool_
    return int64


def array_from(data: Any, wanted: dtype | None) -> Any:
    """An array that owns its memory, from nested Python numbers, arrays or tensors."""
    if isinstance(data, Tensor):
        return np.array(data._data, dtype=(wanted or data.dtype).numpy, order="K")
    if isinstance(data, (np.ndarray, np.generic)):
        found = wanted or from_numpy_dtype(data.dtype)
        return np.array(data, dtype=found.numpy)
    if isinstance(data, float):
        return np.array(data, (wanted or get_default_dtype()).numpy)
    if hasattr(data, "__array__") and not isinstance(data, (list, tuple)):
        return array_from(np.asarray(data), wanted)
    array = _nested(data)
    found = wanted or (infer_dtype(array) if array.dtype.kind != "O" else None)
    if isinstance(data, (list, tuple)) and wanted is None:
        found = _dtype_of_elements(data, array)
    assert found is not None
    if array.dtype.kind == "i" and found.numpy.kind == "u":
        return array.astype(found.numpy)
    return array.astype(found.numpy, copy=False) if array.dtype != found.numpy else array


def _dtype_of_elements(data: Any, array: np.ndarray) -> dtype:
    """Tensors and NumPy scalars inside a list keep their dtype; Python numbers are inferred."""
    first = data
    while isinstance(first, (list, tuple)):
        if not first:
            return get_default_dtype()
        first = first[0]
    if isinstance(first, Tensor):
        return first.dtype
    if isinstance(first, (np.ndarray, np.generic)):
        return from_numpy_dtype(array.dtype)
    return infer_dtype(array)


def _plain(data: Any) -> Any:
    """Tensors inside nested lists as numbers."""
    if isinstance(data, Tensor):
        return data.tolist()
    if isinstance(data, (list, tuple)):
        return [_plain(item) for item in data]
    return data


def _contains_tensor(data: Any) -> bool:
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return isinstance(data, Tensor)


def _nested(data: Any) -> np.ndarray:
    if _contains_tensor(data):
        data = _plain(data)
    try:
        array = np.array(data)
    except ValueError:
        raise _ragged(data) from None
    except OverflowError:
        raise RuntimeError("Overflow when unpacking long long") from None
    if array.dtype.kind in "OUS" or array.dtype.kind not in "biufc":
        raise _not_numbers(data)
    if array.dtype == np.uint64:
        raise RuntimeError("Overflow when unpacking long long")
    return array


def _not_numbers(data: Any) -> Exception:
    if isinstance(data, (list, tuple)):
        for item in data:
            if isinstance(item, (list, tuple)):
                inner = _not_numbers(item)
                if inner is not None:
                    return inner
            elif isinstance(item, str):
                return ValueError("too many dimensions 'str'")
            elif isinstance(item, int) and not -(2**63) <= item < 2**63:
                return RuntimeError("Overflow when unpacking long long")
            elif item is None or not isinstance(item, (int, float, complex, np.generic)):
                return RuntimeError(f"Could not infer dtype of {type(item).__name__}")
        return RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    if isinstance(data, str):
        return TypeError("new(): invalid data type 'str'")
    if isinstance(data, int):
        return RuntimeError("Overflow when unpacking long long")
    return RuntimeError(f"Could not infer dtype of {type(data).__name__}")


def _ragged(data: Any, depth: int = 0) -> ValueError:
    """Say at which depth the lists differ in length."""
    lengths = {len(item) for item in data if isinstance(item, (list, tuple))}
    if len(lengths) > 1 or (lengths and any(not isinstance(i, (list, tuple)) for i in data)):
        first = len(data[0]) if isinstance(data[0], (list, tuple)) else 0
        for item in data:
            if not isinstance(item, (list, tuple)):
                return ValueError(
                    f"expected sequence of length {first} at dim {depth + 1} (got 1)"
                )
            if len(item) != first:
                return ValueError(
                    f"expected sequence of length {first} at dim {depth + 1} (got {len(item)})"
                )
    for item in data:
        if isinstance(item, (list, tuple)):
            return _ragged(item, depth + 1)
    return ValueError("the nested sequences differ in length")


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor with a copy of `data` (numbers, nested lists, an array or a tensor)."""
    if isinstance(data, Tensor):
        import warnings

        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() "
            "or sourceTensor.detach().clone().requires_grad_(True), rather than "
            "torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
    if device is not None:
        as_device(device)
    out = make(array_from(data, None if dtype is None else as_dtype(dtype)))
    if requires_grad:
        out.requires_grad = True
    return out


def legacy_tensor(cls: Any, data: Any = None, *rest: Any, **options: Any) -> Tensor:
    """`Tensor(2, 3)` makes an uninitialised tensor of that shape, `Tensor([1, 2])` one from data."""
    if isinstance(data, int) and not isinstance(data, bool):
        shape = (data, *rest)
        out = make(np.empty(shape, get_default_dtype().numpy))
    elif data is None:
        out = make(np.empty((0,), get_default_dtype().numpy))
    elif isinstance(data, tuple) and hasattr(data, "numel"):
        out = make(np.empty(data, get_default_dtype().numpy))
    elif isinstance(data, Tensor):
        out = make(data._data)
        out._version_box = data._version_box
    else:
        out = make(array_from(data, get_default_dtype()))
    if cls is not Tensor:
        out = subclass_of(cls, out)
    return out


def subclass_of(cls: Any, tensor: Tensor) -> Any:
    """The same storage seen as an instance of a Tensor subclass."""
    out = object.__new__(cls)
    out._data = tensor._data
    out._node = tensor._node
    out._requires_grad = tensor._requires_grad
    out._version_box = tensor._version_box
    return out
