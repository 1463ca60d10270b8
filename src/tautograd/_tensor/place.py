"""A tensor's device and kind: every tensor here is dense, on the CPU or a GPU."""

from __future__ import annotations

from typing import Any

from .._arrays.devices import as_device, cuda_backend, device_of
from .._arrays.strided import strides_of
from .._ops.declare.elementwise_calls import require_tensor
from .._ops.declare.guarding import explain, marked
from .._ops.declare.public import FUNCTIONS, attach
from .attributes import state_of
from .tensor import Tensor

_cls: Any = Tensor


_cls.name = property(lambda self: self._name)


def _volatile(self: Tensor) -> bool:
    import warnings

    warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, 2)
    return False


_cls.volatile = property(_volatile)
_cls.is_cuda = property(lambda self: device_of(self._data).type == "cuda")
_cls.is_meta = property(lambda self: device_of(self._data).type == "meta")
_cls.is_cpu = property(lambda self: device_of(self._data).type == "cpu")


def _cuda_interface(self: Tensor) -> Any:
    if not self.is_cuda:
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()}. If CUDA data "
            "is required use tensor.cuda() to copy tensor to device memory."
        )
    if self.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't "
            "required, use var.detach() to get Variable that doesn't require grad."
        )
    return self._data.raw.__cuda_array_interface__


_cls.__cuda_array_interface__ = property(_cuda_interface)


@marked
def get_device(input: Tensor) -> int:
    """The number of the device; -1 for the CPU."""
    try:
        index = input.device.index
        return -1 if input.device.type == "cpu" or index is None else index
    except Exception as error:
        explain(error, "get_device", (input,), {}, method=True)
        raise


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the memory is locked for transfers to an accelerator."""
    return bool(state_of(self).get("_pinned", False))


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in page-locked memory, which a GPU can read while the CPU continues."""
    backend = cuda_backend()
    if backend is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if self.is_cuda:
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    if is_pinned(self):
        return self
    from .tensor import make

    out = make(backend.pinned(self._data))
    state_of(out)["_pinned"] = True
    return out


def cuda(self: Tensor, device: Any = None, **options: Any) -> Tensor:
    """This tensor on a GPU; raises if there is none."""
    where = as_device("cuda" if device is None else device)
    if where.type != "cuda":
        raise RuntimeError(f"Invalid device, must be cuda device, not {where}")
    return self.to(where)


def is_shared(self: Tensor) -> bool:
    """Whether other processes see this tensor's memory (a GPU's always; otherwise after `share_memory_`)."""
    if device_of(self._data).type == "cuda":
        return True
    return bool(getattr(self, "_is_shared", False)) or _region(self._data) is not None


def _region(array: Any) -> Any:
    import sys

    # Nothing is shared before the first `share_memory_` loads this.
    sharing = sys.modules.get("tautograd._tensor.shared_memory")
    return None if sharing is None else sharing.region_of(array)


def share_memory_(self: Tensor) -> Tensor:
    """Move this tensor's elements to memory that child processes started from now on can see, too.

    Views of it taken earlier keep the old memory.
    """
    if not is_shared(self):
        import numpy as np

        from .shared_memory import shared

        if type(self._data) is np.ndarray:
            self._data = shared(self._data)
        state_of(self)["_is_shared"] = True
    return self


def dim_order(self: Tensor, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions by decreasing stride."""
    strides = strides_of(self._data)
    return tuple(sorted(range(len(strides)), key=lambda d: -strides[d]))


def apply_(self: Tensor, callable: Any) -> Tensor:
    """Replace each element by a Python function of it: slow, one call per element."""
    return _by_element(self, "apply_", callable, {})


def map_(self: Tensor, other: Tensor, callable: Any) -> Tensor:
    """Replace each element by a Python function of it and of another tensor's element."""
    return _by_element(self, "map_", callable, {"other": other})


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:
    """Replace each element by a Python function of it and of two other tensors' elements."""
    return _by_element(self, "map2_", callable, {"x": x, "y": y})


def _by_element(self: Tensor, name: str, call: Any, others: dict[str, Tensor]) -> Tensor:
    import numpy as np

    from .from_data import element

    for position, (argument, tensor) in enumerate(others.items()):
        require_tensor(name, tensor, argument, position + 1)
    tensors = (self, *others.values())
    if any(tensor.requires_grad for tensor in tensors):
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead."
        )
    for argument, tensor in others.items():
        if tensor.dtype != self.dtype:
            said = f"argument '{argument}'" if len(others) > 1 else f"'{argument}'"
            raise TypeError(f"{name}: expected {self.type()} for {said} (got {tensor.type()})")
    data = self._data
    columns = [tensor.expand(data.shape)._data.ravel().tolist() for tensor in tensors]
    if data.size and not callable(call):
        raise TypeError(f"'{type(call).__name__}' object is not callable")
    results = [element(call(*values), self.dtype) for values in zip(*columns, strict=True)]
    data[...] = np.array(results, data.dtype).reshape(data.shape)  # not counted by PyTorch
    return self


for _method in (
    get_device, is_pinned, pin_memory, cuda, is_shared, share_memory_, dim_order, apply_, map_,
    map2_,
):  # fmt: skip
    attach(_method.__name__, _method)
FUNCTIONS["get_device"] = get_device


def as_subclass(self: Tensor, cls: Any) -> Any:
    """The same memory and history as an instance of a Tensor subclass."""
    from .._autograd.apply import apply
    from .._autograd.forward_ad import alias_op
    from .creation import subclass_of

    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not "
            "possible. Make sure your class inherits from Tensor."
        )
    alias = apply(alias_op, (self,))
    found = subclass_of(cls, alias)
    state_of(found).update(state_of(alias))  # its relation to other views, its tangents
    return found


attach("as_subclass", as_subclass)


def _make_subclass(
    cls: Any, data: Any, require_grad: bool = False, dispatch_strides: bool = False
) -> Any:
    """A leaf of a subclass over a tensor's memory."""
    from .creation import leaf_of

    return leaf_of(cls, data, require_grad)


_cls._make_subclass = staticmethod(_make_subclass)
