"""An array from Python data: nested sequences of numbers, NumPy scalars and one-element tensors.

Plain Python numbers are left to NumPy, which is fast, whenever the result is certain to be
PyTorch's. Everything else (mixtures with NumPy scalars or tensors, overflows, ragged lists) is
traversed element by element in PyTorch's order, so that dtypes and errors are the same.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays.dtypes import (
    array_of_number,
    bool_,
    dtype,
    from_numpy_dtype,
    get_default_dtype,
    int64,
    promote_types,
)
from .._arrays.formats import empty_preserving
from .arguments import type_name
from .tensor import Tensor

_PLAIN = frozenset((int, float, bool, complex))
_MOST_DIMS = 128


def array_from(data: Any, wanted: dtype | None) -> Any:
    """An array that owns its memory, of the given dtype or the one that the data imply."""
    if type(data) is float and -_SMALL < data < _SMALL:
        return _array_from(data, wanted)
    with np.errstate(all="ignore"):  # what a dtype cannot hold becomes infinite, silently
        return _array_from(data, wanted)


_SMALL = 60000  # what every floating-point dtype can hold


def _array_from(data: Any, wanted: dtype | None) -> Any:
    if isinstance(data, float) and not isinstance(data, np.generic):
        if wanted is None or wanted.is_floating_point:
            kind = (wanted or get_default_dtype()).numpy
            return np.array(data, kind) if type(data) is float else array_of_number(data, kind)
    elif isinstance(data, Tensor):
        if type(data._data) is not np.ndarray:
            return np.astype(data._data, (wanted or data.dtype).numpy)
        return np.array(data._data, dtype=(wanted or data.dtype).numpy, order="K")
    elif isinstance(data, (np.ndarray, np.generic)):
        return _from_array(np.asarray(data), wanted)
    elif hasattr(data, "untyped"):
        return from_storage(data, wanted or getattr(data, "dtype", None) or get_default_dtype())
    elif isinstance(data, (list, tuple, range, Sequence)) and not isinstance(data, (str, bytes)):
        if (plain := _from_plain(data, wanted)) is not None:
            return plain
    elif hasattr(data, "__array__"):
        return _from_array(np.asarray(data), wanted)
    elif hasattr(data, "__dlpack__"):
        return np.array(np.from_dlpack(data), dtype=None if wanted is None else wanted.numpy)
    elif isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    return _walked(data, wanted)


def _from_array(array: Any, wanted: dtype | None) -> Any:
    check_strides(array)
    check_byte_order(array)
    found = wanted or from_numpy_dtype(array.dtype)
    out = empty_preserving(array, found.numpy)
    np.copyto(out, array, casting="unsafe")
    return out


def from_storage(storage: Any, kind: dtype) -> Any:
    """The elements in a storage's memory, shared rather than copied."""
    from .storages import check_kind

    check_kind(storage, kind)
    whole = storage.untyped().bytes_view()
    return whole[: whole.size // kind.itemsize * kind.itemsize].view(kind.numpy)


def check_byte_order(array: Any) -> None:
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion "
            "between byte orders is currently not supported."
        )


def check_strides(array: Any) -> None:
    if any(stride < 0 for stride in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides "
            "are not currently supported. (You can probably work around this by making a copy of "
            "your "
            "array  with array.copy().) "
        )


def _is_sequence(value: Any) -> bool:
    """Whether a value is read as a sequence: it has `__getitem__` and `__len__`, and is no dict, text or array."""
    if isinstance(value, (list, tuple, range)):
        return True
    if isinstance(value, (str, bytes, dict, Tensor, np.ndarray, np.generic, type)):
        return False
    return isinstance(value, Sequence) or (
        hasattr(type(value), "__getitem__") and hasattr(type(value), "__len__")
    )


def _element_at(data: Any, place: int) -> Any:
    try:
        return data[place]
    except Exception:  # whatever it raises, it is not a sequence after all
        raise ValueError(
            f"could not determine the shape of object type '{type(data).__name__}'"
        ) from None


# --- plain numbers, by NumPy ----------------------------------------------------------------------


def _types(data: Any, found: set[type], depth: int = 0) -> None:
    if depth > _MOST_DIMS:
        found.add(object)
    elif len(data) and _is_sequence(data[0]):
        for item in data:
            if isinstance(item, (list, tuple)):
                _types(item, found, depth + 1)
            else:
                found.add(object)
    else:
        found.update(map(type, data))


def _from_plain(data: Any, wanted: dtype | None) -> Any:
    """The array of nested plain numbers, or None if NumPy might differ from PyTorch."""
    kinds: set[type] = set()
    _types(data, kinds)
    if not kinds <= _PLAIN:
        return None
    try:
        array = np.array(data if not isinstance(data, range) else list(data))
    except (ValueError, OverflowError):
        return None
    if array.dtype.kind not in "bifc":
        return None
    found = wanted or (_inferred(array.dtype.kind) if array.size else get_default_dtype())
    if array.dtype == found.numpy:
        return array
    target = found.numpy
    if target.kind in "iu" and array.size:
        if array.dtype.kind == "c" or not _all_within(array, target):
            return None
        return (
            np.trunc(array).astype(np.int64).astype(target)
            if array.dtype.kind == "f"
            else array.astype(target)
        )
    if array.dtype.kind == "c" and target.kind not in "cb":
        return None
    with np.errstate(all="ignore"):
        return array.astype(target)


def _inferred(kind: str) -> dtype:
    if kind == "f":
        return get_default_dtype()
    if kind == "c":
        return get_default_dtype().to_complex()
    return bool_ if kind == "b" else int64


def _limits(target: Any) -> tuple[int, int]:
    """What C's conversion accepts: an unsigned type takes negative numbers, wrapped around."""
    limits = np.iinfo(target)
    return (-int(limits.max) if target.kind == "u" else int(limits.min)), int(limits.max)


def _all_within(array: Any, target: Any) -> bool:
    if target == np.uint64:  # takes no negative number, fraction or bool
        return array.dtype.kind == "i" and bool((array >= 0).all())
    low, high = _limits(target)
    return bool(np.all((array >= low) & (array <= high)))


# --- anything, element by element -----------------------------------------------------------------


def _walked(data: Any, wanted: dtype | None) -> Any:
    sizes = _sizes(data)
    found = wanted or _infer(data)
    flat: list[Any] = []
    _store(data, sizes, 0, found, flat)
    return np.array(flat, found.numpy).reshape(sizes)


def _sizes(data: Any) -> tuple[int, ...]:
    sizes: list[int] = []
    while (_is_sequence(data) or isinstance(data, (str, bytes, np.ndarray))) and not isinstance(
        data, Tensor
    ):
        if isinstance(data, np.ndarray) and data.ndim == 0:
            raise TypeError("len() of unsized object")
        length = len(data)
        sizes.append(length)
        if len(sizes) > _MOST_DIMS:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if length == 0:
            break
        data = _element_at(data, 0)
    return tuple(sizes)


def _infer(data: Any) -> dtype:
    """The dtype of a number, or the promotion of all those in a sequence."""
    if isinstance(data, Tensor):
        return data.dtype
    if isinstance(data, (np.generic, np.ndarray)):
        return from_numpy_dtype(data.dtype)
    if isinstance(data, bool):
        return bool_
    if isinstance(data, int):
        return int64
    if isinstance(data, float):
        return get_default_dtype()
    if isinstance(data, complex):
        return get_default_dtype().to_complex()
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if not _is_sequence(data):
        raise RuntimeError(f"Could not infer dtype of {type_name(data)}")
    found: dtype | None = None
    for item in data:
        kind = _infer(item)
        found = kind if found is None else promote_types(found, kind)
        if found.name == "complex128":
            break
    return found or get_default_dtype()


def _store(data: Any, sizes: tuple[int, ...], dim: int, kind: dtype, flat: list[Any]) -> None:
    if dim == len(sizes):
        flat.append(element(data, kind))
        return
    if not _is_sequence(data) and not isinstance(data, np.ndarray):
        raise TypeError("not a sequence")
    if len(data) != sizes[dim]:
        raise ValueError(f"expected sequence of length {sizes[dim]} at dim {dim} (got {len(data)})")
    for item in data:
        _store(item, sizes, dim + 1, kind, flat)


def element(value: Any, kind: dtype) -> Any:
    """One element as the dtype holds it, or Python's error for the conversion."""
    target = kind.numpy
    if target.kind == "b":
        return bool(value)
    if target.kind == "c":
        return _converted(complex, value)
    if target.kind not in "iu":
        if isinstance(value, complex):
            raise TypeError("must be real number, not complex")
        return _converted(float, value)
    if target == np.uint64 and isinstance(value, (float, np.floating)):
        raise TypeError("an integer is required")
    number = int(value) if isinstance(value, (float, np.floating)) and np.isfinite(value) else value
    if isinstance(number, (float, np.floating)):
        raise _overflow(kind)
    if not hasattr(number, "__index__"):
        raise TypeError(f"'{type(number).__name__}' object cannot be interpreted as an integer")
    number = operator.index(number)
    if target == np.uint64:  # the one that an int64 does not hold
        if number < 0:
            raise OverflowError("can't convert negative int to unsigned")
        if number >= 2**64:
            raise OverflowError("int too big to convert")
        return number
    if not -(2**63) <= number < 2**63:
        raise ValueError("Overflow when unpacking long long")
    low, high = _limits(target)
    if not low <= number <= high:
        raise _overflow(kind)
    return number % 2 ** (8 * target.itemsize) if target.kind == "u" else number


def _converted(number: Any, value: Any) -> Any:
    """`float(value)` or `complex(value)`."""
    try:
        return number(value)
    except TypeError:
        raise TypeError(f"must be real number, not {type(value).__name__}") from None
    except OverflowError:
        raise OverflowError("int too large to convert to float") from None


def _overflow(kind: dtype) -> RuntimeError:
    return RuntimeError(f"value cannot be converted to type {kind.name} without overflow")
