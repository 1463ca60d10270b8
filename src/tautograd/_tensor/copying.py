"""Copies of tensors by `copy`, `deepcopy` and `pickle`.

A pickle holds bytes, a dtype's name, sizes and strides, and names one function of this module that
puts them together: loading one looks up and runs nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays.devices import CPU, as_device, moved
from .._arrays.dtypes import dtype_named
from .._arrays.strided import storage_of, storage_offset_of, strided, strides_of
from .._ops.declare.public import attach
from .creation import subclass_of
from .tensor import Tensor, make


def own_attributes(tensor: Tensor) -> dict[str, Any]:
    """The attributes a user has set."""
    return dict(vars(tensor))


def _with(tensor: Any, cls: type, requires_grad: bool, attributes: dict[str, Any]) -> Any:
    tensor._requires_grad = requires_grad
    if cls is not Tensor:
        tensor = subclass_of(cls, tensor)
    tensor.__dict__.update(attributes)
    return tensor


# --- copy and deepcopy ----------------------------------------------------------------------------


def shallow_copy(self: Tensor) -> Tensor:
    """Another leaf over the same memory."""
    out = make(self._data)
    copied: Tensor = _with(out, type(self), self.requires_grad, own_attributes(self))
    return copied


def deep_copy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A leaf in its own memory; tensors that shared memory share the copy."""
    import copy

    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol "
            "at the moment.  If you were attempting to deepcopy a module, this may be because of a "
            "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(self) in memo:
        found: Tensor = memo[id(self)]
        return found
    if hasattr(self._data, "is_sparse_array"):
        from .._ops.sparse.copies import copied

        return copied(self, memo)  # type: ignore[no-any-return]
    owner = storage_of(self._data)
    storages = memo.setdefault("storages of tensors", {})  # type: ignore[call-overload]
    if id(owner) not in storages:
        storages[id(owner)] = np.copy(owner, order="K"), owner
    fresh = storages[id(owner)][0]
    offset = storage_offset_of(self._data) * self._data.dtype.itemsize
    array = strided(
        fresh.view(self._data.dtype) if fresh.dtype != self._data.dtype else fresh,
        self._data.shape,
        self._data.strides,
        offset,
    )
    out: Tensor = _with(make(array), type(self), self._requires_grad, {})
    memo[id(self)] = out
    if self._grad is not None:
        out._grad = copy.deepcopy(self._grad, memo)
    for name, value in own_attributes(self).items():
        out.__dict__[name] = copy.deepcopy(value, memo)
    return out


# --- pickle ---------------------------------------------------------------------------------------


def rebuild(
    cls: type | None,
    data: bytes,
    dtype: str,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool,
    attributes: dict[str, Any],
    device: str = "cpu",
) -> Any:
    """A tensor from what `reduce` wrote."""
    kind = dtype_named(dtype).numpy
    size = kind.itemsize
    flat = np.frombuffer(bytearray(data) or bytearray(size), kind)
    reach = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if 0 not in shape else 0
    if any(s < 0 for s in strides) or reach >= flat.size:
        raise ValueError("the pickled tensor's strides reach outside of its data")
    array = np.ndarray(shape, kind, flat, 0, [s * size for s in strides])
    return _with(make(moved(array, as_device(device))), cls or Tensor, requires_grad, attributes)


def reduce(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """What `pickle` writes: the elements in memory order, without gaps between views."""
    if hasattr(self._data, "is_sparse_array"):
        from .._ops.sparse.copies import reduced

        return reduced(self)
    array = moved(self._data, CPU)
    strides = strides_of(array)
    reach = sum((n - 1) * s for n, s in zip(array.shape, strides, strict=True))
    if 0 in array.shape:
        data = b""
    elif reach < array.size:
        data = _span(array, reach + 1)
    else:  # a view with gaps: only its own elements
        array = np.copy(array, order="C")
        data, strides = array.tobytes(), strides_of(array)
    cls = None if type(self) is Tensor else type(self)
    state = (cls, data, self.dtype.name, tuple(array.shape), strides, self.requires_grad)
    place = () if array is self._data else (str(self.device),)
    return rebuild, (*state, own_attributes(self), *place)


def _span(array: Any, length: int) -> bytes:
    """The bytes from an array's first element to its last."""
    found: bytes = strided(array, (length,), (array.dtype.itemsize,)).tobytes()
    return found


attach("__copy__", shallow_copy)
attach("__deepcopy__", deep_copy)
attach("__reduce_ex__", reduce)
