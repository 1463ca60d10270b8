"""A tensor without a shape: it can only be moved, converted and materialised.

Every operation reads a tensor's array, so all other uses are refused there.
"""

from __future__ import annotations

from typing import Any

import tautograd as torch

from .._tensor.tensor import Tensor, make

_array: Any = Tensor.__dict__["_data"]  # the slot that holds a tensor's array


class UninitializedTensorMixin:
    """The parameters and buffers of lazy modules until their first input arrives."""

    cls_to_become: Any = None

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Assign a shape, and become an ordinary parameter or buffer, not initialised yet."""
        self.data = torch.empty(shape, device=device, dtype=dtype or self.data.dtype)
        self.__class__ = self.cls_to_become

    # --- refused ---------------------------------------------------------------------------------

    @property
    def _data(self) -> Any:
        raise ValueError(
            f"Attempted to use an uninitialized parameter in an operation. This error happens when "
            "you are using a `LazyModule` or explicitly manipulating "
            f"`torch.nn.parameter.{type(self).__name__}` objects. When using LazyModules Call "
            "`forward` with a dummy batch to initialize the parameters before calling torch "
            "functions"
        )

    @_data.setter
    def _data(self, value: Any) -> None:
        _array.__set__(self, value)

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    def share_memory_(self) -> Any:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )

    # --- allowed ---------------------------------------------------------------------------------

    @property
    def data(self) -> Any:
        """An empty tensor of the right dtype."""
        return make(_array.__get__(self))

    @data.setter
    def data(self, value: Tensor) -> None:
        _array.__set__(self, value._data)

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def device(self) -> Any:
        return self.data.device

    # What PyTorch's tensors know about themselves without an operation.
    is_meta = property(lambda self: self.data.is_meta)
    is_cpu = property(lambda self: self.data.is_cpu)
    is_cuda = property(lambda self: self.data.is_cuda)
    itemsize = property(lambda self: self.data.itemsize)
    nbytes = property(lambda self: self.data.nbytes)
    ndim = property(lambda self: self.data.ndim)

    def copy_(self, src: Any, non_blocking: bool = False) -> Any:
        """Copy the (empty) contents of another tensor."""
        self.data.copy_(src.data)
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad,)  # type: ignore[attr-defined]


def _allow(name: str) -> None:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.data, name)(*args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"`Tensor.{name}`, of an empty tensor."
    setattr(UninitializedTensorMixin, name, method)


for _name in (
    "size", "is_complex", "is_floating_point", "half", "float", "double", "char", "short", "int",
    "long", "cuda", "cpu", "to", "get_device",
):  # fmt: skip
    _allow(_name)
