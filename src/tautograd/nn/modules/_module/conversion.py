"""Operations on all of a module's tensors: converting, moving, sharing, clearing gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import tautograd as torch

from .... import __future__ as choices
from ...._autograd.effects import structure
from ...._tensor.tensor import Tensor
from ...parameter import Parameter, is_lazy


class Conversion:
    """Applies to every parameter and buffer of a module and its descendants."""

    if TYPE_CHECKING:
        _parameters: dict[str, Any]
        _buffers: dict[str, Any]

        def children(self) -> Any: ...
        def parameters(self, recurse: bool = True) -> Any: ...

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        if recurse:
            for module in self.children():
                module._apply(fn)
        renew = choices.get_overwrite_module_params_on_conversion()
        for name, param in self._parameters.items():
            if param is None:
                continue
            with torch.no_grad():
                changed = fn(param)
            grad = param.grad
            if renew and not is_lazy(param):
                structure[0] += 1
                self._parameters[name] = _renewed(param, changed, fn)
                continue
            param.data = changed
            if grad is not None:
                with torch.no_grad():
                    grad.data = fn(grad)
                param.grad = grad
        for name, buffer in self._buffers.items():
            if is_lazy(buffer):
                buffer.data = fn(buffer)
            elif buffer is not None:
                structure[0] += 1
                self._buffers[name] = fn(buffer)
        return self

    def apply(self, fn: Callable[[Any], None]) -> Self:
        """Call `fn` on every descendant of this module, then on the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # --- devices ---------------------------------------------------------------------------------

    def cpu(self) -> Self:
        """Move all parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move all parameters and buffers to a GPU."""
        return self._apply(lambda t: t.cuda(device))

    def share_memory(self) -> Self:
        """Mark all parameters and buffers as shared; see `Tensor.share_memory_`."""
        return self._apply(lambda t: t.share_memory_())

    # --- dtypes ----------------------------------------------------------------------------------

    def type(self, dst_type: Any) -> Self:
        """All parameters and buffers of this dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """Floating-point parameters and buffers as float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Floating-point parameters and buffers as float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        """Floating-point parameters and buffers as float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Self:
        """Floating-point parameters and buffers as bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Parameters and buffers of the same shapes, not filled."""
        return self._apply(lambda t: torch.empty_like(t, device=device), recurse=recurse)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Parameters and buffers on a device, of a floating-point dtype, in a memory format."""
        device, dtype, non_blocking, memory_format = _destination(*args, **kwargs)
        if dtype is not None:
            _check_dtype(dtype)

        def convert(t: Tensor) -> Tensor:
            if t.is_meta and device is not None and str(device) != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() "
                    "instead of torch.nn.Module.to() when moving module from meta to a different "
                    "device."
                )
            kind = dtype if t.is_floating_point() or t.is_complex() else None
            if memory_format is not None and t.dim() in (4, 5):
                return t.to(device, kind, non_blocking, memory_format=memory_format)
            return t.to(device, kind, non_blocking)

        return self._apply(convert)

    # --- gradients -------------------------------------------------------------------------------

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether the parameters require gradients."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the parameters' gradients, or fill them with zeros."""
        for param in self.parameters():
            if set_to_none:
                param.grad = None
                continue
            grad = param.grad
            if grad is None:
                continue
            if grad.grad_fn is not None:
                grad.detach_()
            else:
                grad.requires_grad_(False)
            grad.zero_()


def _check_dtype(dtype: Any) -> None:
    if not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(
            "nn.Module.to only accepts floating point or complex dtypes, but got desired "
            f"dtype={dtype}"
        )
    if dtype.is_complex:
        warnings.warn(
            "Complex modules are a new feature under active development whose design may change, "
            "and some modules might not work as expected when using complex tensors as parameters "
            "or buffers. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex "
            "module does not work as expected.",
            stacklevel=3,
        )


def _destination(
    *args: Any,
    device: Any = None,
    dtype: Any = None,
    tensor: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> tuple[Any, Any, bool, Any]:
    """`to`'s arguments: a device and dtype, a dtype, or a tensor that has both; then the rest."""
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        tensor = rest.pop(0)
    elif rest and isinstance(rest[0], torch.dtype):
        dtype = rest.pop(0)
    elif rest:
        device = rest.pop(0)
        if not isinstance(device, (torch.device, str, int, type(None))) or (
            rest and rest[0] is not None and not isinstance(rest[0], torch.dtype)
        ):
            raise _no_destination(args)
        if rest:
            dtype = rest.pop(0)
    if rest:
        non_blocking = rest.pop(0)
    if tensor is not None:
        device, dtype = tensor.device, tensor.dtype
    if device is not None:
        device = torch.device(device)
    return device, dtype, bool(non_blocking), memory_format


def _no_destination(args: tuple[Any, ...]) -> TypeError:
    kinds = ", ".join(type(a).__name__ for a in args)
    return TypeError(
        f"to() received an invalid combination of arguments - got ({kinds}), but expected one of:\n"
        " * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False)\n"
        " * (torch.dtype dtype, bool non_blocking = False)\n"
        " * (Tensor tensor, bool non_blocking = False)"
    )


def _renewed(param: Any, changed: Tensor, fn: Callable[[Tensor], Tensor]) -> Any:
    """A new parameter for the converted value, with the converted gradient."""
    found = Parameter(changed, param.requires_grad)
    if param.grad is not None:
        found.grad = fn(param.grad).detach().requires_grad_(param.grad.requires_grad)
    return found
