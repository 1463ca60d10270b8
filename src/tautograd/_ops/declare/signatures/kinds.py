"""What the types of signatures take, and what PyTorch calls them when something else is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...._arrays.devices import device
from ...._arrays.dtypes import dtype
from ...._arrays.formats import layout, memory_format
from ...._tensor.random_state import Generator
from ...._tensor.tensor import Tensor

_PYTHON_TYPES = (float, int, bool, complex)  # each stands for a dtype


def _number_of(value: Any, kinds: str) -> bool:
    """A 0-dim tensor that stands for a number."""
    data = value._data if isinstance(value, Tensor) else None
    return (
        data is not None and data.ndim == 0 and not value.requires_grad and data.dtype.kind in kinds
    )


def is_int(value: Any) -> bool:
    """An integer; a bool is none."""
    if isinstance(value, bool):
        return False
    return isinstance(value, (int, np.integer)) or _number_of(value, "iu")


def is_symint(value: Any) -> bool:
    """An integer where a size is asked for: a tensor of one element will do, and even a bool."""
    if isinstance(value, Tensor):
        return value._data.size == 1 and value._data.dtype.kind in "iub"
    return is_int(value)


def is_float(value: Any) -> bool:
    """A real number; of a complex tensor, only its value can tell."""
    return isinstance(value, (int, float, np.floating, np.integer, np.bool_)) or _number_of(
        value, "fiubcV"
    )


def is_scalar(value: Any) -> bool:
    """Any number."""
    return isinstance(value, (complex, np.complexfloating)) or is_float(value)


def _list_of(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A tuple or list, of which the parser looks at the first element only."""

    def is_list(value: Any) -> bool:
        return isinstance(value, (tuple, list)) and (not value or check(value[0]))

    return is_list


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def _is_tensors(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(_is_tensor(part) for part in value)


def _instance(*types: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, types)


# Lists of integers, and what their elements may be.
INTS: dict[str, Callable[[Any], bool]] = {"int[]": is_int, "SymInt[]": is_symint}

# What a kind takes, and its name in errors.
KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "Any": (lambda value: True, "object"),
    "Tensor": (_is_tensor, "Tensor"),
    "Tensor[]": (_is_tensors, "tuple of Tensors"),
    "Tensor?[]": (
        lambda value: (
            isinstance(value, (tuple, list))
            and all(part is None or _is_tensor(part) for part in value)
        ),
        "tuple of Tensors",
    ),
    "int": (is_int, "int"),
    "int[]": (_list_of(is_int), "tuple of ints"),
    "SymInt": (is_symint, "int"),
    "SymInt[]": (_list_of(is_symint), "tuple of ints"),
    "float": (is_float, "float"),
    "float[]": (_list_of(is_float), "tuple of floats"),
    "bool": (_instance(bool), "bool"),
    "bool[]": (_list_of(_instance(bool)), "tuple of bools"),
    "Scalar": (is_scalar, "Number"),
    "Scalar[]": (_list_of(is_scalar), "tuple of Scalars"),
    "str": (_instance(str), "str"),
    "ScalarType": (
        lambda value: isinstance(value, dtype) or any(value is kind for kind in _PYTHON_TYPES),
        "torch.dtype",
    ),
    "Layout": (_instance(layout), "torch.layout"),
    "MemoryFormat": (_instance(memory_format), "torch.memory_format"),
    "Device": (_instance(device, str, int), "torch.device"),
    "Generator": (_instance(Generator), "torch.Generator"),
}


def type_name(value: Any) -> str:
    """A value's type, as PyTorch's errors have it."""
    if isinstance(value, (dtype, layout, memory_format, device, Generator)):
        return f"torch.{type(value).__name__}"
    if isinstance(value, (np.ndarray, np.generic)):  # a class of C's goes by its module, too
        return f"numpy.{type(value).__name__}"
    return type(value).__name__
