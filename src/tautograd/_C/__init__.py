"""What libraries touch of PyTorch's compiled core, where tautograd has an honest answer.

There is no compiled core here. A name is here only if what it says is true of tautograd: a switch that
switches nothing is kept, a question is answered. Everything else is missing, and says so.
"""

from __future__ import annotations

import importlib
from typing import Any

from .._arrays.devices import device as device
from .._arrays.dtypes import dtype as dtype
from .._arrays.formats import layout as layout
from .._arrays.formats import memory_format as memory_format
from .._ops.declare.subclasses import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from .._ops.declare.subclasses import (
    disabled_torch_function_impl as _disabled_torch_function_impl,  # noqa: F401
)
from .._ops.declare.subclasses import is_enabled as _is_torch_function_enabled  # noqa: F401
from .._tensor.random_state import Generator as Generator
from .._tensor.tensor import Size as Size
from .._tensor.tensor import Tensor
from . import _nn as _nn

_has_xpu = _has_mps = _has_mtia = False
has_lapack = has_spectral = True  # by NumPy and SciPy
has_mkl = has_openmp = False
TensorBase = Tensor
_TensorMeta = type(Tensor)


def _log_api_usage_once(event: str) -> None:
    """PyTorch counts who uses what; nothing is counted here."""


def _get_accelerator(check: bool | None = None) -> Any:
    """The accelerator in use, or the CPU."""
    from .. import accelerator

    return accelerator.current_accelerator() or device("cpu")


def _get_privateuse1_backend_name() -> str:
    return "privateuseone"


def _cuda_isInBadFork() -> bool:
    return False


def _get_tracing_state() -> None:
    """The trace that is being recorded: a trace runs the function as it is, so never one."""


def _is_tracing() -> bool:
    from ..jit import is_tracing

    return is_tracing()


_kept: dict[str, Any] = {}


def _switch(name: str, default: Any) -> Any:
    """A switch of PyTorch's script compiler: what it is set to is kept, and given back."""

    def switch(value: Any = None) -> Any:
        before = _kept.get(name, default)
        if value is not None:
            _kept[name] = value
        return before

    switch.__name__ = name
    return switch


_jit_set_profiling_executor = _switch("_jit_set_profiling_executor", True)
_jit_set_profiling_mode = _switch("_jit_set_profiling_mode", True)
_jit_override_can_fuse_on_cpu = _switch("_jit_override_can_fuse_on_cpu", False)
_jit_override_can_fuse_on_gpu = _switch("_jit_override_can_fuse_on_gpu", False)
_jit_set_texpr_fuser_enabled = _switch("_jit_set_texpr_fuser_enabled", False)
_jit_set_nvfuser_enabled = _switch("_jit_set_nvfuser_enabled", False)
_jit_can_fuse_on_cpu = _switch("_jit_override_can_fuse_on_cpu", False)
_jit_can_fuse_on_gpu = _switch("_jit_override_can_fuse_on_gpu", False)


_DISPATCH = {
    "DispatchKey": "DispatchKey",
    "DispatchKeySet": "DispatchKeySet",
    "_ExcludeDispatchKeyGuard": "ExcludeDispatchKeyGuard",
}


def __getattr__(name: str) -> Any:
    if name == "_functorch":
        return importlib.import_module(f"{__name__}._functorch")
    if name in _DISPATCH:
        from . import dispatch_keys

        return getattr(dispatch_keys, _DISPATCH[name])
    raise AttributeError(
        f"module 'torch._C' has no attribute '{name}': it is PyTorch's compiled core, of which "
        "tautograd has only what libraries ask of it at their import",
        name=name,
    )
