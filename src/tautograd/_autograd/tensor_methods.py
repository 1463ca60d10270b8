"""The Tensor methods and properties that touch the graph: `backward`, `detach`, `grad`, `data`, …"""

from __future__ import annotations

from typing import Any

from .._arrays.dtypes import dtype
from .._ops.declare.guarding import explain, marked
from .._ops.declare.out_rules import cpp_name
from .._tensor.tensor import OWN_DTYPE, Tensor, current_node, make
from .api import backward, ones_like_root
from .backward_pass.engine import walk
from .effects import put_off_no_longer
from .hooks import register_hook, register_post_accumulate_grad_hook, retain_grad
from .modes import modes, shared
from .saved import Detached
from .views import detached


def tensor_backward(
    self: Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add this tensor's gradients to the `.grad` of the leaves it was computed from."""
    usual = shared.ordinary  # nothing is put off, and no forward-mode level is open
    if not usual:
        if modes.deferred is not None:
            given = gradient, retain_graph, create_graph, inputs
            modes.deferred.call(tensor_backward, (self, *given), {})
            return
        usual = not modes.forward_level
    if usual and gradient is None and inputs is None and create_graph is False:
        # The usual loss.backward(), without the sequences.
        try:
            data = self._data
        except AttributeError:
            raise TypeError(
                f"backward() is a method of Tensor, not of {type(self).__name__}"
            ) from None
        node = self._node if self._base is None else current_node(self)
        if (
            node is not None
            and node.shape is not None
            and data.size == 1
            and data.dtype.kind == "f"
        ):
            walk([node], {node: ones_like_root(data)}, bool(retain_graph))
            return
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


@marked
def detach(self: Tensor) -> Tensor:
    """The same data with no history; an in-place change of either is seen by both."""
    if modes.deferred is not None:
        return modes.deferred.call(detach, (self,), {})  # type: ignore[no-any-return]
    try:
        out = detached(self)
        out._is_inference = self._is_inference
        return out
    except Exception as error:
        explain(error, "detach", (self,), {}, method=True)
        raise


@marked
def detach_(self: Tensor) -> Tensor:
    """Forget this tensor's history."""
    put_off_no_longer("`detach_()`")
    try:
        if self._base is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using "
                "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
                "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
                "these gradients."
            )
        if self._node is not None:
            box = self._version_box
            box[0] = Detached(box[0])
        self._node = None
        self._output_nr = 0
        self._requires_grad = False
        self._tangents = None
        return self
    except Exception as error:
        explain(error, "detach_", (self,), {}, method=True)
        raise


@marked
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Ask for a gradient of this leaf (or no longer)."""
    try:
        if not (requires_grad and self.grad_fn is not None):  # what has a history wants one already
            self.requires_grad = requires_grad
        return self
    except Exception as error:
        explain(error, "requires_grad_", (self, requires_grad), {}, method=True)
        raise


def _get_grad(self: Tensor) -> Any:
    if (
        self._grad is None
        and self._node is not None
        and not self._retains_grad
        and not self._requires_grad
    ):
        import warnings

        warnings.warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
            ".grad attribute won't be populated during autograd.backward(). If you indeed want "
            "the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the "
            "non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access "
            "the leaf Tensor instead.",
            UserWarning,
            stacklevel=2,
        )
    return self._grad


def _set_grad(self: Tensor, value: Any) -> None:
    if value is None:
        self._grad = None
        return
    if not isinstance(value, Tensor):
        raise TypeError(
            "assigned grad expected to be a Tensor or None but got grad of type "
            f"{type(value).__name__}"
        )
    if value is self:
        raise RuntimeError("can't assign Variable as its own grad")
    if value._data.dtype != self._data.dtype or self._grad_dtype is not OWN_DTYPE:
        wanted = self.dtype if self._grad_dtype is OWN_DTYPE else self._grad_dtype
        if wanted is not None and value.dtype is not wanted:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{_spoken(value.dtype)}' to a tensor with "
                f"grad_dtype '{_spoken(wanted)}'. The gradient must match the tensor's grad_dtype "
                "(defaults to the tensor's dtype). You can set the tensor's grad_dtype attribute with a "
                "specific dtype, or None to allow any dtype."
            )
    if value._data.shape != self._data.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
            f"'{list(self.shape)}'. Please ensure that the gradient and the tensor are the same "
            "size"
        )
    if type(value._data) is not type(self._data) and value.device != self.device:
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{value.device.type}' to a tensor with "
            f"device type '{self.device.type}'. Please ensure that the gradient and the tensor are on "
            "the same device"
        )
    self._grad = value


def _spoken(kind: dtype) -> str:
    return cpp_name(kind).removeprefix("c10::")


def _get_grad_dtype(self: Tensor) -> Any:
    """The dtype that gradients of this leaf have: its own unless set; None for any."""
    if self._node is not None:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    return self.dtype if self._grad_dtype is OWN_DTYPE else self._grad_dtype


def _set_grad_dtype(self: Tensor, value: Any) -> None:
    if self._node is not None:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    if value is not None and not isinstance(value, dtype):
        raise RuntimeError(
            f"grad_dtype must be a torch.dtype or None, but got {type(value).__name__}"
        )
    if value is not None and self._grad is not None and self._grad.dtype is not value:
        raise RuntimeError(
            f"Cannot set grad_dtype to '{_spoken(value)}' because there is already a gradient with dtype "
            f"'{_spoken(self._grad.dtype)}'. Please clear the gradient (.grad = None) before changing "
            "grad_dtype, or ensure the new grad_dtype matches the existing gradient's dtype."
        )
    self._grad_dtype = value
    self._watched = True  # its gradients take the way of those that are looked at


def _del_grad(self: Tensor) -> None:
    self._grad = None


def _get_data(self: Tensor) -> Tensor:
    if modes.deferred is not None:
        return modes.deferred.call(_get_data, (self,), {})  # type: ignore[no-any-return]
    return make(self._data)


def _set_data(self: Tensor, value: Tensor) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if self.requires_grad and not (value.dtype.is_floating_point or value.dtype.is_complex):
        raise RuntimeError(
            "data set to a tensor that requires gradients must be floating point or complex dtype"
        )
    self._data = value._data


def _backward_hooks(self: Tensor) -> Any:
    """The hooks on this tensor's gradient, by number; None if there never was one."""
    node = current_node(self)
    if node is None:
        return self._hooks
    return node.tensor_hooks and node.tensor_hooks.get(self._output_nr)


def _set_backward_hooks(self: Tensor, hooks: Any) -> None:
    node = current_node(self)
    if node is None:
        self._hooks = hooks
        self._watched = self._watched or hooks is not None
        return
    others = {nr: held for nr, held in (node.tensor_hooks or {}).items() if nr != self._output_nr}
    node.tensor_hooks = others if hooks is None else {**others, self._output_nr: hooks}
    node.unusual = True


def _is_view(self: Tensor) -> bool:
    return self._base is not None


def install() -> None:
    """Give Tensor its autograd methods."""
    cls: Any = Tensor
    cls.backward = tensor_backward
    tensor_backward.__name__ = "backward"  # as which it is noted, and shown to subclasses
    cls.detach, cls.detach_ = detach, detach_
    cls.requires_grad_ = requires_grad_
    cls.register_hook = register_hook
    cls.register_post_accumulate_grad_hook = register_post_accumulate_grad_hook
    cls.retain_grad = retain_grad
    cls.grad = property(_get_grad, _set_grad, _del_grad)
    cls.grad_dtype = property(_get_grad_dtype, _set_grad_dtype)
    cls.data = property(_get_data, _set_data)
    cls._is_view = _is_view
    cls._backward_hooks = property(_backward_hooks, _set_backward_hooks)
    cls._post_accumulate_grad_hooks = property(lambda self: self._post_hooks)
    cls.is_inference = lambda self: self._is_inference


install()
