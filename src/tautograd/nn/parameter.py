"""Tensors that a module owns: parameters, which learn, and buffers, which do not.

A `Parameter` is a Tensor on the same memory, marked by its class alone: what is computed from it is
a plain Tensor. The uninitialized kinds get their shape when a lazy module sees its first input.
"""

from __future__ import annotations

from typing import Any

import tautograd as torch

from .._tensor.copying import own_attributes
from .._tensor.creation import subclass_of
from .._tensor.printing import plain_tensor_types
from .._tensor.tensor import Tensor
from ._uninitialized import UninitializedTensorMixin

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]


def _leaf(cls: type, data: Tensor, requires_grad: bool) -> Any:
    """A leaf of this class on the memory of a tensor, without the tensor's history."""
    if not isinstance(data, Tensor):
        raise AttributeError(f"'{type(data).__name__}' object has no attribute 'detach'")
    out = subclass_of(cls, data)
    out._node = out._base = None
    out._output_nr = 0
    out._requires_grad = False
    if data._is_inference:
        out._is_inference = True
    if not isinstance(requires_grad, bool):
        raise TypeError(
            "_make_subclass(): argument 'require_grad' (position 3) must be bool, not "
            f"{type(requires_grad).__name__}"
        )
    if requires_grad:
        if not (data.dtype.is_floating_point or data.dtype.is_complex):
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        out.requires_grad = requires_grad
    return out


def _rebuilt(data: Tensor, requires_grad: bool, attributes: dict[str, Any]) -> Any:
    """A parameter from what `pickle` wrote down."""
    out = _leaf(Parameter, data, requires_grad)
    out.__dict__.update(attributes)
    return out


class _MarkedKind(type):
    """A class whose instances are its own and those of other Tensor classes that bear its mark."""

    mark: str

    def __instancecheck__(cls, instance: object) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        mark = cls.__dict__.get("mark")
        return mark is not None and isinstance(instance, Tensor) and mark in instance.__dict__


class Parameter(Tensor, metaclass=_MarkedKind):
    """A tensor that is a module's to learn: one set as an attribute of a module is found there."""

    __module__ = "torch.nn.parameter"
    mark = "_is_param"

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = torch.empty(0)
        kind = type(data)
        if kind is Tensor or kind is Parameter or cls is not Parameter:
            return _leaf(cls, data, requires_grad)
        marked = _leaf(kind, data, requires_grad)
        marked.__dict__.update(data.__dict__)
        marked._is_param = True
        return marked

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(
                self.data.clone(memory_format=torch.preserve_format), self.requires_grad
            )
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuilt, (self.data, self.requires_grad, own_attributes(self))

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        return "Parameter containing:\n" + Tensor.__repr__(self)


class Buffer(Tensor, metaclass=_MarkedKind):
    """A tensor that a module keeps but does not learn; a plain Tensor with a mark comes of it."""

    __module__ = "torch.nn.parameter"
    mark = "_is_buffer"

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = torch.empty(0)
        out = _leaf(type(data), data, data.requires_grad)
        out.persistent = persistent
        out._is_buffer = True
        return out


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter whose shape is not known yet."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return _leaf(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet."""

    cls_to_become = Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> Any:
        out = _leaf(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)
        out.persistent = persistent
        out._is_buffer = True
        return out


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer still waits for its shape."""
    return isinstance(param, UninitializedTensorMixin)


plain_tensor_types.add(Parameter)
