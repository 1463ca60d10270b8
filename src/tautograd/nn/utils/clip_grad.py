"""Gradient clipping: by total norm, or element by element."""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

import tautograd as torch

from ..._arrays.checks import require_all
from ..._autograd.views import bump
from ..._ops.declare.python_surface import speak
from ..._tensor.tensor import Tensor, make
from ..._user_code.sites import warning_level

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_"]

Returned = TypeVar("Returned")


def _no_grad(fn: Callable[..., Returned]) -> Callable[..., Returned]:
    """Run without recording, and without NumPy's overflow warnings."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Returned:
        with torch.no_grad(), np.errstate(all="ignore"):
            return fn(*args, **kwargs)

    return call


def _is_plain(tensor: Tensor) -> bool:
    """Whether a gradient can be used directly, in its memory layout."""
    data = tensor._data
    return type(data) is np.ndarray and data.dtype.char in "fd" and data.flags.c_contiguous


def _norms(tensors: list[Tensor], norm_type: float) -> Tensor:
    """The norm of each tensor."""
    kinds = {tensor._data.dtype for tensor in tensors}
    if norm_type == 2.0 and len(kinds) == 1 and all(map(_is_plain, tensors)):
        flat = [tensor._data.ravel() for tensor in tensors]
        return make(np.sqrt(np.array([np.dot(x, x) for x in flat], kinds.pop())))
    return torch.stack([torch.linalg.vector_norm(tensor, norm_type) for tensor in tensors])


def _tensors(given: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [given] if isinstance(given, Tensor) else list(given)


def _grads(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [p.grad for p in _tensors(parameters) if p.grad is not None]


@_no_grad
def _get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all elements of the tensors, as if they were one vector."""
    tensors = _tensors(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return torch.tensor(0.0)
    total = torch.linalg.vector_norm(_norms(tensors, norm_type), norm_type)
    if error_if_nonfinite:
        message = (
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
        require_all(total._data, np.isfinite, lambda _: RuntimeError(message), waits=True)
    return total


@_no_grad
def _clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale gradients with a known total norm down to `max_norm`, in place."""
    grads = _grads(parameters)
    if not grads:
        return
    limit = max_norm if max_norm.__class__ is float else float(max_norm)
    factor = torch.clamp(limit / (total_norm + 1e-6), max=1.0)
    for grad in grads:
        if _is_plain(grad) and grad._data.dtype is factor._data.dtype:
            np.multiply(grad._data, factor._data, out=grad._data)
            bump(grad)
        else:
            grad.mul_(factor)


@_no_grad
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the parameters' gradients so that their total norm is at most `max_norm`.

    Returns their norm before clipping.
    """
    found = _tensors(parameters)
    if isinstance(parameters, types.GeneratorType) and not found:
        warnings.warn(
            "`parameters` is an empty generator, no gradient clipping will occur.",
            stacklevel=warning_level(),
        )
    total = _get_total_norm(_grads(found), norm_type, error_if_nonfinite, foreach)
    _clip_grads_with_norm_(found, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The deprecated name of `clip_grad_norm_`."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=warning_level(),
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@_no_grad
def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Clamp each element of the gradients to [-clip_value, clip_value], in place."""
    bound = float(clip_value)
    for grad in _grads(parameters):
        grad.clamp_(min=-bound, max=bound)


speak(globals(), (*__all__, "_get_total_norm", "_clip_grads_with_norm_"))
