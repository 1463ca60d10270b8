"""Other memory behind a tensor: `resize_`, `resize_as_`, `set_`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.formats import contiguous_format, order_of, preserve_format, strides_in_order
from ..._arrays.strided import contiguous_strides, storage_of, storage_offset_of, strided
from ..._autograd.effects import put_off_no_longer
from ..._autograd.modes import modes
from ..._autograd.views import bump, check_writable
from ..._tensor.arguments import require_strided
from ..._tensor.storages import check_kind
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import require_tensor
from ..declare.public import public
from ..declare.shapes import ints
from .rearranging import suggested_format
from .strided_views import check_storage


def _refuse_history(self: Tensor, what: str) -> None:
    if self.requires_grad and not (self._is_inference and modes.inference):
        raise RuntimeError(what)


@public(function=False, out=False)
def resize_(self: Tensor, *size: Any, memory_format: Any = None, **given: Any) -> Tensor:
    """Give this tensor another size; elements stay in memory order, new ones are not set."""
    put_off_no_longer("`resize_`")
    shape = ints("resize_", "size", size, given)
    require_strided("resize_", self.layout)
    _refuse_history(self, "cannot resize variables that require grad")
    if any(extent < 0 for extent in shape):
        raise RuntimeError("numel: integer multiplication overflow")
    if memory_format is preserve_format:
        raise RuntimeError("Unsupported memory formatPreserve")
    data = self._data
    changed = shape != data.shape
    if not changed and memory_format is None:
        return self
    strides = strides_in_order(shape, order_of(shape, memory_format or contiguous_format))
    count = max(int(np.prod(shape, dtype=np.int64)), 0)
    start, itemsize = storage_offset_of(data), data.dtype.itemsize
    if (start + count) * itemsize > storage_of(data).nbytes:
        grown = np.empty_like(data, shape=(start + count,))
        old = storage_of(data)
        held = old.nbytes // itemsize
        np.copyto(grown[:held], strided(data, (held,), (itemsize,), -start * itemsize))
        data = grown[start:]
    self._data = strided(data, shape, [stride * itemsize for stride in strides])
    if changed:
        bump(self)
    return self


@public(out=False)
def resize_as_(input: Tensor, the_template: Any, *, memory_format: Any = None) -> Tensor:
    """Give this tensor the size of another."""
    require_tensor("resize_as_", the_template, "the_template")
    if memory_format is preserve_format:
        memory_format = suggested_format(the_template._data)
    return resize_(input, the_template._data.shape, memory_format=memory_format)


@public(function=False, out=False)
def set_(
    self: Tensor, source: Any = None, storage_offset: Any = 0, size: Any = None, stride: Any = None
) -> Tensor:
    """Let this tensor look into the memory of another tensor or storage, or into none."""
    check_writable(self)
    bump(self)
    if source is None:
        self._data = np.empty_like(self._data, shape=(0,))
        return self
    if isinstance(source, Tensor):
        if source._data.dtype != self._data.dtype:
            raise RuntimeError(
                f"Could not set tensor of type {_C_TYPES[source.dtype.name]} to a tensor of type "
                f"{_C_TYPES[self.dtype.name]}"
            )
        array = source._data
    else:
        check_kind(source, self.dtype)
        array = source.untyped().bytes_view()
        size_in_bytes = self._data.dtype.itemsize
        array = array[: array.size // size_in_bytes * size_in_bytes].view(self._data.dtype)
    if size is None and isinstance(source, Tensor):
        self._data = array
        return self
    shape = (array.size,) if size is None else ints("set_", "size", (size,), {})
    steps = contiguous_strides(shape) if stride is None else ints("set_", "stride", (stride,), {})
    check_storage(array, shape, steps, storage_offset)
    itemsize = array.dtype.itemsize
    offset = (storage_offset - storage_offset_of(array)) * itemsize
    self._data = strided(array, shape, [step * itemsize for step in steps], offset)
    return self


_C_TYPES = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
    "uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int",
    "int64": "long int", "bool": "bool", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip
