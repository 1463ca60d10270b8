"""Out of a tensor: Python numbers, lists, text, NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._arrays.dtypes import get_default_dtype
from .._ops.public import attach
from . import printing
from .tensor import Tensor

printing.default_dtype = get_default_dtype
printing.plain_tensor_types.add(Tensor)


def method(fn: Any) -> Any:
    """Give Tensor a method."""
    attach(fn.__name__, fn)
    return fn


@method
def numel(self: Tensor) -> int:
    """The number of elements."""
    return int(self._data.size)


@method
def nelement(self: Tensor) -> int:
    """The number of elements."""
    return int(self._data.size)


@method
def item(self: Tensor) -> Any:
    """The one element as a Python number."""
    if self._data.size != 1:
        raise RuntimeError(
            f"a Tensor with {self._data.size} elements cannot be converted to Scalar"
        )
    return _python(self._data).item()


def _python(array: Any) -> Any:
    """An array whose elements Python has a type for."""
    return array.astype(np.float64) if array.dtype.kind == "V" else array


@method
def tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers; a number for a 0-dim tensor."""
    return _python(self._data).tolist()


@method
def numpy(self: Tensor, *, force: bool = False) -> Any:
    """This tensor's memory as a NumPy array; with `force` a tensor with history is detached."""
    if not force and self.requires_grad:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    return self._data


@method
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    array = numpy(self)
    if dtype is None:
        return np.array(array, copy=True) if copy else array
    return array.astype(dtype, copy=bool(copy))


@method
def __repr__(self: Tensor, *, tensor_contents: str | None = None) -> str:
    return printing.tensor_repr(self, tensor_contents)


@method
def __bool__(self: Tensor) -> bool:
    if self._data.size != 1:
        if self._data.size == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(self._data.item())


@method
def __iter__(self: Tensor) -> Iterator[Tensor]:
    if not self._data.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


@method
def __float__(self: Tensor) -> float:
    return float(item(self))


@method
def __int__(self: Tensor) -> int:
    return int(item(self))


@method
def __complex__(self: Tensor) -> complex:
    return complex(item(self))


@method
def __index__(self: Tensor) -> int:
    if self._data.dtype.kind not in "iu" or self._data.size != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self._data.item())


@method
def __format__(self: Tensor, spec: str) -> str:
    if not self._data.ndim and type(self) is Tensor:
        return format(item(self), spec)
    return object.__format__(self, spec)
