"""Methods that create a tensor with another one's dtype and device: `x.new_zeros(…)`, `x.new_tensor(…)`, `x.new(…)`."""

from __future__ import annotations

import functools
from typing import Any

from .._arrays.batching.levels import batched_like
from .._arrays.devices import as_device
from .._autograd.modes import modes
from .._ops.declare.public import attach
from .arguments import (
    checked_size,
    finish,
    number,
    put,
    require_strided,
    size_argument,
    wanted_dtype,
)
from .filled import SPARSE_LAYOUTS, new_filled, sparse_zeros, strided_array
from .tensor import Tensor, make


def _method(name: str, doc: str) -> Any:
    def declare(fn: Any) -> Any:
        fn.__name__ = fn.__qualname__ = name
        fn.__doc__ = doc
        attach(name, fn)
        return fn

    return declare


def _new_variadic(name: str, value: Any) -> None:
    def create(
        self: Tensor,
        *size: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        layout: Any = None,
        pin_memory: bool = False,
        **options: Any,
    ) -> Tensor:
        require_strided(name, layout)
        size = size_argument(name, size, options)
        if options:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(options))}'")
        kind = wanted_dtype(name, dtype) or self.dtype
        if layout is None and str(self.layout) in SPARSE_LAYOUTS:
            shape = checked_size(name, size)
            where = as_device(device or self.device)
            return sparse_zeros(name[4:], shape, kind, self.layout, where, requires_grad)
        where = self.device if device is None else device
        out = new_filled(name[4:], checked_size(name, size), value, kind, where, requires_grad)
        if modes.vmap_levels:
            out._data = batched_like(out._data, self._data.shape)
        return out

    _method(name, f"`{name[4:]}` with this tensor's dtype and device.")(create)


for _name, _value in (("new_zeros", 0), ("new_ones", 1), ("new_empty", None)):
    _new_variadic(_name, _value)


@functools.partial(_method, "new_full")("`full` with this tensor's dtype and device.")  # type: ignore[untyped-decorator]
def _new_full(
    self: Tensor,
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    require_strided("new_full", self.layout if layout is None else layout)
    kind = wanted_dtype("new_full", dtype) or self.dtype
    value = number("new_full", fill_value, "fill_value", 2)
    where = self.device if device is None else device
    return new_filled(
        "full", checked_size("new_full", size, False), value, kind, where, requires_grad
    )


@functools.partial(_method, "new_empty_strided")("`empty_strided` with this tensor's dtype.")  # type: ignore[untyped-decorator]
def _new_empty_strided(
    self: Tensor,
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    require_strided("new_empty_strided", layout)
    kind = wanted_dtype("new_empty_strided", dtype) or self.dtype
    where = self.device if device is None else device
    return finish(strided_array(tuple(size), tuple(stride), kind, where), requires_grad)


@functools.partial(_method, "new_tensor")("A tensor with a copy of `data` and this tensor's dtype.")  # type: ignore[untyped-decorator]
def _new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    require_strided("new_tensor", layout)
    from .creation import warn_of_copy
    from .from_data import array_from

    if isinstance(data, Tensor):
        warn_of_copy("tensor.new_tensor(sourceTensor)")
    array = array_from(data, wanted_dtype("new_tensor", dtype) or self.dtype)
    return finish(put(array, self.device if device is None else device), requires_grad)


@functools.partial(_method, "new")("The old constructor, with this tensor's dtype.")  # type: ignore[untyped-decorator]
def _new_legacy(self: Tensor, *args: Any, size: Any = None, device: Any = None) -> Tensor:
    from .creation import legacy_tensor
    from .storages import TypedStorage

    if str(self.layout) in SPARSE_LAYOUTS:
        sizes = checked_size("new", args) if size is None else checked_size("new", size, False)
        where = as_device(device or self.device)
        return sparse_zeros("zeros", sizes, self.dtype, self.layout, where, False)
    if size is not None and not args:
        return self.new_empty(size, device=device)
    if device is not None and as_device(device).type != self.device.type:
        raise RuntimeError(
            f"legacy constructor expects device type: {self.device.type} but device type: "
            f"{as_device(device).type} was passed"
        )
    data = args[0] if args else None
    if isinstance(data, Tensor) and (data.dtype, data.device) != (self.dtype, self.device):
        raise TypeError(
            f"expected {self.dtype} on {self.device} (got {data.dtype} on {data.device}): new() makes no "
            "tensor of another dtype or device"
        )
    if isinstance(data, TypedStorage):
        if data.dtype is not self.dtype:
            raise RuntimeError(
                f"new(): expected a storage of {self.dtype}, but got one of {data.dtype}"
            )
        return self.new_empty(0).set_(data)
    if isinstance(data, (list, tuple)) and not hasattr(data, "numel"):
        from .from_data import array_from

        return make(put(array_from(data, self.dtype), self.device))
    found = legacy_tensor(Tensor, *args, device=self.device)
    return make(found._data.astype(self._data.dtype, copy=False))
