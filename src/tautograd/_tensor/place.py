"""Where a tensor lives and what kind it is: every tensor here is dense and on the CPU."""

from __future__ import annotations

from typing import Any

from .._arrays.devices import as_device
from .._arrays.strided import strides_of
from .._ops.public import FUNCTIONS, attach
from .tensor import Tensor

_cls: Any = Tensor


_cls.name = property(lambda self: self._name)


def _volatile(self: Tensor) -> bool:
    import warnings

    warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, 2)
    return False


_cls.volatile = property(_volatile)


def get_device(input: Tensor) -> int:
    """The number of the device; -1 for the CPU."""
    return -1


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the memory is locked for transfers to an accelerator: never, on the CPU alone."""
    return False


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Memory locked for an accelerator: an error, since there is none."""
    raise RuntimeError("Cannot access accelerator device when none is available.")


def cuda(self: Tensor, device: Any = None, **options: Any) -> Tensor:
    """This tensor on a GPU: an error, since there is none."""
    as_device("cuda")
    return self


def is_shared(self: Tensor) -> bool:
    """Whether `share_memory_` was called."""
    return bool(getattr(self, "_is_shared", False))


def share_memory_(self: Tensor) -> Tensor:
    """Mark this tensor as shared. Memory is shared by threads; other processes get copies."""
    _cls._is_shared = False
    self.__dict__["_is_shared"] = True
    return self


def dim_order(self: Tensor, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions from the one with the longest stride to the one with the shortest."""
    strides = strides_of(self._data)
    return tuple(sorted(range(len(strides)), key=lambda d: -strides[d]))


def apply_(self: Tensor, callable: Any) -> Tensor:
    """Replace each element by a Python function of it: slow, one call per element."""
    return _by_element(self, "apply_", callable)


def map_(self: Tensor, other: Tensor, callable: Any) -> Tensor:
    """Replace each element by a Python function of it and of another tensor's element."""
    return _by_element(self, "map_", callable, other)


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:
    """Replace each element by a Python function of it and of two other tensors' elements."""
    return _by_element(self, "map2_", callable, x, y)


def _by_element(self: Tensor, name: str, call: Any, *others: Tensor) -> Tensor:
    import numpy as np

    for tensor in (self, *others):
        if tensor.requires_grad:
            raise RuntimeError(
                f"Can't call {name}() on Variable that requires grad. Use "
                f"var.detach().{name}() instead."
            )
    data = self._data
    columns = [np.broadcast_to(t._data, data.shape).ravel().tolist() for t in (self, *others)]
    results = [call(*values) for values in zip(*columns, strict=True)]
    data[...] = np.array(results, data.dtype).reshape(data.shape)  # which PyTorch does not count
    return self


for _method in (
    get_device, is_pinned, pin_memory, cuda, is_shared, share_memory_, dim_order, apply_, map_,
    map2_,
):  # fmt: skip
    attach(_method.__name__, _method)
FUNCTIONS["get_device"] = get_device


def as_subclass(self: Tensor, cls: Any) -> Any:
    """The same memory and history, seen as an instance of a subclass of Tensor."""
    from .._autograd.apply import apply
    from .._autograd.forward_ad import alias_op
    from .creation import subclass_of

    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not "
            "possible. Make sure your class inherits from Tensor."
        )
    return subclass_of(cls, apply(alias_op, (self,)))


attach("as_subclass", as_subclass)
