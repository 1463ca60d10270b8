"""What storages can be made of, indexed by and filled with; anything else gets PyTorch's error."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays.room import out_of_memory

_FORMS = (
    "TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n"
    " * (*, torch.device device, torch.dtype dtype)\n"
    " * (int size, *, torch.device device, torch.dtype dtype)\n"
    " * (Sequence data, *, torch.device device, torch.dtype dtype)\n"
    " * (*, UntypedStorage wrap_storage, torch.dtype dtype)\n"
)


def is_whole(value: Any) -> bool:
    """Whether a value is an integer; a bool is not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def zeros(count: int, kind: Any) -> Any:
    """An array for so many elements, if there is memory for them."""
    size = int(count) * np.dtype(kind).itemsize
    if size < 0:
        raise RuntimeError(
            "[enforce fail at alloc_cpu.cpp:98] ((ptrdiff_t)nbytes) >= 0. alloc_cpu() seems to have "
            f"been called with negative number: {size % 2**64}"
        )
    try:
        return np.zeros(int(count), kind)
    except (MemoryError, ValueError, OverflowError):
        raise out_of_memory(size) from None


def bytes_of(sequence: Any) -> Any:
    """The bytes that a sequence of numbers stands for."""
    if not hasattr(sequence, "__len__") or not hasattr(sequence, "__getitem__"):
        raise RuntimeError(
            f"torch.UntypedStorage(): Expected a sequence type, but got {type(sequence).__name__}"
        )
    items = [sequence[i] for i in range(len(sequence))]
    for item in items:
        if not is_whole(item):
            raise RuntimeError(
                "torch.UntypedStorage(): tried to construct a storage from a sequence "
                f"({type(sequence).__name__}), but one of the items was of type "
                f"{type(item).__name__} instead of int"
            )
    return np.array([int(item) & 255 for item in items], np.uint8)


def place(index: Any, size: int, name: str, error: type[Exception]) -> int:
    """An index into so many elements; `error` is raised if it is not one."""
    if not is_whole(index):
        raise error(f"can't index a {name} with {type(index).__name__}")
    if not -(2**63) <= index < 2**63:
        raise ValueError("Overflow when unpacking long long")
    found = int(index) + size if index < 0 else int(index)
    if not 0 <= found < size:
        raise IndexError(f"index {found} out of range for storage of size {size}")
    return found


def span(index: slice, size: int) -> slice:
    """A range of bytes; storages have no steps."""
    first, last, step = index.indices(size)
    if step != 1:
        raise RuntimeError(
            f"Trying to slice with a step of {step}, but only a step of 1 is supported"
        )
    return slice(first, max(first, last))


def as_byte(value: Any, wrong: str) -> int:
    """A number as one byte; if it is none, the error is `wrong` followed by its type."""
    if not is_whole(value):
        raise RuntimeError(wrong.format(type(value).__name__))
    return int(value) & 255


def check_typed(source: Any, wrapped: Any, is_storage: bool, where: Any) -> None:
    """Refuse what a typed storage cannot be made from."""
    if wrapped is not None:
        if source is not None:
            raise RuntimeError(
                _FORMS + "No positional arguments should be given when using 'wrap_storage'"
            )
        if not is_storage:
            raise TypeError(
                _FORMS + f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrapped)}"
            )
        if where is not None:
            raise RuntimeError(
                _FORMS + "Argument 'device' should not be specified when 'wrap_storage' is given"
            )
    elif source is not None and not is_whole(source) and not _is_sequence(source):
        raise TypeError(_FORMS + f"Argument type not recognized: {type(source)}")


def _is_sequence(value: Any) -> bool:
    return (
        hasattr(value, "__len__")
        and hasattr(value, "__getitem__")
        and not isinstance(value, (dict, type))
        and getattr(value, "ndim", 1) > 0
    )
