"""Tensors that a module owns: parameters, which are learned, and buffers, which are not.

A `Parameter` is a Tensor on the same memory, marked only by its class: results computed from it are
plain Tensors. The uninitialized kinds get their shape when a lazy module sees its first input.
"""

from __future__ import annotations

from typing import Any

import tautograd as torch

from .._ops.declare.subclasses import disabled_torch_function_impl
from .._tensor.copying import own_attributes
from .._tensor.creation import leaf_of
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


def _rebuilt(data: Tensor, requires_grad: bool, attributes: dict[str, Any]) -> Any:
    """Rebuild a parameter from its pickled state."""
    out = leaf_of(Parameter, data, requires_grad)
    out.__dict__.update(attributes)
    return out


class _MarkedKind(type):
    """A class whose instances include those of other Tensor classes that carry its mark."""

    mark: str

    def __instancecheck__(cls, instance: object) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        mark = cls.__dict__.get("mark")
        return mark is not None and isinstance(instance, Tensor) and mark in instance.__dict__


class Parameter(Tensor, metaclass=_MarkedKind):
    """A learnable tensor: assigned to an attribute of a module, it is registered there."""

    __module__ = "torch.nn.parameter"
    mark = "_is_param"
    __torch_function__ = disabled_torch_function_impl  # results are plain tensors

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = torch.empty(0)
        kind = type(data)
        if kind is Tensor or kind is Parameter or cls is not Parameter:
            return leaf_of(cls, data, requires_grad)
        marked = leaf_of(kind, data, requires_grad)
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
    """A tensor that a module keeps but does not learn; given a plain Tensor, it makes a marked plain one."""

    __module__ = "torch.nn.parameter"
    mark = "_is_buffer"
    __torch_function__ = disabled_torch_function_impl

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = torch.empty(0)
        out = leaf_of(type(data), data, data.requires_grad)
        out.persistent = persistent
        out._is_buffer = True
        return out


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter whose shape is not known yet."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return leaf_of(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet."""

    cls_to_become = Tensor
    __torch_function__ = disabled_torch_function_impl

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> Any:
        out = leaf_of(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)
        out.persistent = persistent
        out._is_buffer = True
        return out


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


plain_tensor_types.add(Parameter)
