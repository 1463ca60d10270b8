"""What a tensor says of its memory: sizes, strides, where it starts, whether it is contiguous."""

from __future__ import annotations

from typing import Any

from ..._arrays.dtypes import LEGACY_NAMES
from ..._arrays.formats import contiguous_format
from ..._arrays.strided import address, storage_of, storage_offset_of, strides_of
from ..._tensor.storages import LEGACY_STORAGES, TypedStorage, UntypedStorage, warn_deprecated
from ..._tensor.tensor import Size, Tensor
from ..declare.dims import wrap_dim
from ..declare.elementwise_calls import require_tensor
from ..declare.guarding import explain, marked
from ..declare.public import attach, public
from .rearranging import is_contiguous_in


def _dim(dim: Any, ndim: int, name: str) -> int:
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, ndim, name)


@public(function=False, out=False)
def size(self: Tensor, dim: Any = None) -> Any:
    """The shape, or the extent of one dimension."""
    shape = self._data.shape
    return Size(shape) if dim is None else shape[_dim(dim, len(shape), "size")]


@public(function=False, out=False)
def stride(self: Tensor, dim: Any = None) -> Any:
    """How many elements apart neighbours lie, for every dimension or for one."""
    strides = strides_of(self._data)
    return strides if dim is None else strides[_dim(dim, len(strides), "stride")]


@public("dim", function=False, out=False, aliases=("ndimension",))
@marked
def dim_(self: Tensor) -> int:
    """The number of dimensions."""
    try:
        return len(self._data.shape)
    except Exception as error:
        explain(error, "dim", (self,), {}, method=True)
        raise


@public(out=False)
def numel(input: Any) -> int:
    """The number of elements."""
    require_tensor("numel", input)
    return int(input._data.size)


@public(function=False, out=False)
@marked
def nelement(self: Tensor) -> int:
    """The number of elements."""
    try:
        return int(self._data.size)
    except Exception as error:
        explain(error, "nelement", (self,), {}, method=True)
        raise


@public(function=False, out=False)
@marked
def element_size(self: Tensor) -> int:
    """The bytes of one element."""
    try:
        return int(self._data.dtype.itemsize)
    except Exception as error:
        explain(error, "element_size", (self,), {}, method=True)
        raise


@public(function=False, out=False)
@marked
def is_contiguous(self: Tensor, *, memory_format: Any = contiguous_format) -> bool:
    """Whether the elements lie in memory in the order of their indices."""
    try:
        return is_contiguous_in(self._data, memory_format)
    except Exception as error:
        explain(error, "is_contiguous", (self,), {"memory_format": memory_format}, method=True)
        raise


@public(function=False, out=False)
@marked
def storage_offset(self: Tensor) -> int:
    """How many elements after the start of its storage this tensor begins."""
    try:
        return storage_offset_of(self._data)
    except Exception as error:
        explain(error, "storage_offset", (self,), {}, method=True)
        raise


@public(function=False, out=False)
@marked
def data_ptr(self: Tensor) -> int:
    """The address of the first element; 0 for none."""
    try:
        return address(self._data) if self._data.size else 0
    except Exception as error:
        explain(error, "data_ptr", (self,), {}, method=True)
        raise


attach("const_data_ptr", data_ptr)


@public(function=False, out=False)
def is_set_to(self: Tensor, tensor: Any) -> bool:
    """Whether two tensors are the same view of the same storage."""
    require_tensor("is_set_to", tensor, "tensor")
    return (
        storage_of(self._data) is storage_of(tensor._data)
        and address(self._data) == address(tensor._data)
        and self._data.shape == tensor._data.shape
        and strides_of(self._data) == strides_of(tensor._data)
    )


@public(out=False)
def is_same_size(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape."""
    require_tensor("is_same_size", input)
    require_tensor("is_same_size", other, "other", 2)
    return bool(input._data.shape == other._data.shape)


@public(function=False, out=False)
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory this tensor looks into."""
    return UntypedStorage.of(self._data)


@public(function=False, out=False)
def storage(self: Tensor) -> TypedStorage:
    """The memory this tensor looks into, as elements of its dtype."""
    warn_deprecated()
    kept = UntypedStorage.of(self._data)
    return TypedStorage(wrap_storage=kept, dtype=self.dtype, _internal=True)


def _typed_storage(self: Tensor) -> TypedStorage:
    kept = UntypedStorage.of(self._data)
    return TypedStorage(wrap_storage=kept, dtype=self.dtype, _internal=True)


def storage_type(self: Tensor) -> Any:
    """The type of this tensor's storage."""
    return LEGACY_STORAGES[f"{LEGACY_NAMES[self.dtype]}Storage"]


attach("_typed_storage", _typed_storage)
attach("storage_type", storage_type)
