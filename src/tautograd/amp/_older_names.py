"""PyTorch's deprecated names: autocast functions for each device type."""

from __future__ import annotations

import warnings
from typing import Any

from .._autograd import autocast_state as _state


def _warn(old: str, new: str) -> None:
    warnings.warn(
        f"torch.{old} is deprecated. Please use torch.{new} instead.",
        DeprecationWarning,
        stacklevel=3,
    )


def is_autocast_cpu_enabled() -> bool:
    """`is_autocast_enabled("cpu")`."""
    _warn("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return _state.is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """`set_autocast_enabled("cpu", enabled)`."""
    _warn("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    _state.set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> Any:
    """`get_autocast_dtype("cpu")`."""
    _warn("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return _state.get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> Any:
    """`get_autocast_dtype("cuda")`."""
    _warn("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return _state.get_autocast_dtype("cuda")


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """`set_autocast_dtype("cpu", dtype)`."""
    _warn("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    _state.set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype: Any) -> None:
    """`set_autocast_dtype("cuda", dtype)`."""
    _warn("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    _state.set_autocast_dtype("cuda", dtype)
