"""`autocast`: regions of a program in mixed precision. What is cast: `_ops/declare/autocasting.py`."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from .._arrays.devices import cuda_backend
from .._arrays.dtypes import bfloat16, dtype, float16, float64
from .._autograd import autocast_state as _state
from .._autograd.autocast_state import is_autocast_available
from .._tensor.tensor import Tensor

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
_KINDS = (bfloat16, float16)


def _check_type(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


class autocast:  # noqa: N801 - PyTorch's name
    """A region (`with autocast("cpu"):`) or function (`@autocast("cpu")`) in mixed precision.

    Matrix products and convolutions run in the lower precision, functions that need more precision in
    float32; parameters and their gradients stay in float32.
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        _check_type(device_type)
        self.fast_dtype = _state.get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        if not is_autocast_available(device_type):
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'"
            )
        kept = _state.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._cache_enabled = kept
        self._enabled = enabled and self._works()

    def _works(self) -> bool:
        """Whether the device exists and supports the lower precision; warns if not."""
        if self.device == "cuda" and cuda_backend() is None:
            reason = "CUDA is not available or torch_xla is imported. Disabling autocast."
        elif self.fast_dtype not in _KINDS:
            name = self.device.upper()
            reason = (
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of {', '.join(map(str, _KINDS))} currently."
            )
        else:
            return True
        warnings.warn(reason, stacklevel=3)
        return False

    def __enter__(self) -> autocast:
        _state.enter_region(self.device, self.fast_dtype, self._enabled, self._cache_enabled)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _state.leave_region(self.device)

    def __call__(self, func: Decorated) -> Decorated:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean "
                "to use autocast as a context manager? For example:\n"
                "    with torch.autocast(device_type=...):\n"
                "        output = model(input)"
            )
        return autocast_decorator(self, func)


def autocast_decorator(autocast_instance: autocast, func: Decorated) -> Decorated:
    """Wrap a function to run in a mixed-precision region."""

    @functools.wraps(func)
    def decorate_autocast(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorate_autocast  # type: ignore[return-value]


def _cast(value: Any, device_type: str, wanted: dtype) -> Any:
    """Cast floating-point tensors, including those in containers, to another dtype."""
    if isinstance(value, Tensor):
        casts = value.is_floating_point() and value.dtype != float64
        return value.to(wanted) if casts and value.device.type == device_type else value
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, Mapping):
        return {
            _cast(k, device_type, wanted): _cast(v, device_type, wanted) for k, v in value.items()
        }
    if isinstance(value, Iterable):
        several = (_cast(one, device_type, wanted) for one in value)
        return type(value)(several) if isinstance(value, (list, tuple)) else several
    return value


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: dtype | None = None) -> Any:
    """For the `forward` of an `autograd.Function`: records whether autocast was on, for `custom_bwd`.

    With `cast_inputs`, tensors in a region are cast to that dtype, and nothing inside is cast again.
    """
    _check_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args: Any, **kwargs: Any) -> Any:
        context = args[0]
        context._dtype = _state.get_autocast_dtype(device_type)
        enabled = _state.is_autocast_enabled(device_type)
        context._fwd_used_autocast = enabled and cast_inputs is None
        if not enabled or cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            given = _cast(args, device_type, cast_inputs), _cast(kwargs, device_type, cast_inputs)
            return fwd(*given[0], **given[1])

    return forward


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """For the `backward` of an `autograd.Function`: autocast as in `forward`."""
    _check_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args: Any, **kwargs: Any) -> Any:
        context = args[0]
        with autocast(device_type, context._dtype, context._fwd_used_autocast):
            return bwd(*args, **kwargs)

    return backward
