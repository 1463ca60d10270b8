"""Conversion between tensors and other libraries' arrays: NumPy's protocols and DLPack, without copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays.batching.batched import BatchedArray
from .._arrays.dtypes import as_dtype, get_default_dtype
from .._arrays.dtypes import dtype as Dtype
from .._autograd.effects import value_asked
from .._autograd.modes import modes
from .._ops.declare.public import FUNCTIONS, attach
from .._ops.declare.subclasses import GENERAL
from .._ops.declare.truth_values import require_truth
from .arguments import require_strided
from .creation import from_numpy
from .mapped_files import mapped_file
from .tensor import Tensor, make


def numpy(self: Tensor, *, force: bool = False) -> Any:
    """This tensor's memory as a NumPy array; with `force` a tensor with history is detached."""
    given: Any = force
    if given is not False and given is not True:
        require_truth("numpy", force=given)
    if type(self._data) is not np.ndarray and self.is_meta:
        raise TypeError(
            "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
            "host memory first."
        )
    if not force and modes.grad and self.requires_grad:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    value_asked("a tensor's values as a NumPy array (`.numpy()`, `np.asarray`)", "numpy")
    if self._data.dtype.kind == "V":  # NumPy itself has no bfloat16
        raise TypeError("Got unsupported ScalarType BFloat16")
    if type(self._data) is not np.ndarray and self.is_cuda:
        if not force:
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy "
                "the tensor to host memory first."
            )
        return self._data.host()
    if isinstance(self._data, BatchedArray):
        self._data.__array__()  # which says that there is none
    return self._data


def array(self: Tensor, dtype: Any = None, *, copy: bool | None = None) -> Any:
    """What `np.asarray(tensor)` calls."""
    found = numpy(self)
    if isinstance(dtype, Dtype):
        raise TypeError(f"Cannot interpret '{dtype}' as a data type")
    if hasattr(found, "is_sparse_array"):
        raise TypeError(
            f"can't convert {self.layout} layout tensor to numpy. Use Tensor.to_dense() first."
        )
    if dtype is None or found.dtype == np.dtype(dtype):
        return np.array(found, copy=True) if copy else found
    if copy is False:
        raise ValueError(
            "Unable to avoid copy while creating an array as requested: the dtype differs."
        )
    return found.astype(dtype)


def array_wrap(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    """What a NumPy function applied to a tensor returns: a tensor again (masks as uint8)."""
    found = np.asarray(array)
    return from_numpy(found.astype(np.uint8) if found.dtype == np.bool_ else found)


def from_file(
    filename: Any,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor over a file's elements; with `shared`, writes go to the file."""
    require_strided("from_file", layout)
    kind = as_dtype(dtype) if dtype is not None else get_default_dtype()
    if pin_memory:
        raise RuntimeError("tensors constructed from a file cannot be pinned")
    found: Any = make(mapped_file(filename, shared, size, kind.numpy))
    return found.requires_grad_(requires_grad)  # type: ignore[no-any-return]


FUNCTIONS["from_file"] = from_file

_equal: Any = Tensor.__eq__
GENERAL["__eq__"] = _equal


def equal(self: Tensor, other: Any) -> Any:
    """`==`, the only tensor operator that takes a NumPy array without converting it."""
    found = _equal(self, other)
    if found is NotImplemented and isinstance(other, np.ndarray):
        return _equal(self, from_numpy(other))
    return found


def to_dlpack(tensor: Any) -> Any:
    """A DLPack capsule over this tensor's memory."""
    from .dlpack import export_capsule

    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"_to_dlpack(): argument 'data' (position 1) must be Tensor, not {type(tensor).__name__}"
        )
    return export_capsule(tensor)


def dlpack(
    self: Tensor,
    *,
    stream: Any = -1,
    max_version: tuple[int, int] | None = None,
    dl_device: Any = None,
    copy: bool | None = None,
) -> Any:
    """The DLPack protocol: a capsule over this tensor's memory."""
    from .dlpack import export_capsule

    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if type(self._data) is not np.ndarray and self.is_cuda:
        return self._data.raw.__dlpack__(stream=None if stream == -1 else stream)
    if stream not in (-1, None):
        raise AssertionError("stream should be None on cpu.")
    return export_capsule(self, max_version=max_version, copy=copy)


def dlpack_device(self: Tensor) -> tuple[int, int]:
    """DLPack's name of the device: the CPU is kind 1, CUDA kind 2."""
    return (2, self.get_device()) if self.is_cuda else (1, 0)


_METHODS: dict[str, Callable[..., Any]] = {
    "numpy": numpy,
    "__array__": array,
    "__array_wrap__": array_wrap,
    "__eq__": equal,
    "__dlpack__": dlpack,
    "__dlpack_device__": dlpack_device,
}
for _name, _method in _METHODS.items():
    attach(_name, _method)

FUNCTIONS["to_dlpack"] = to_dlpack
