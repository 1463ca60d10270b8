"""Process-wide settings and type queries: PyTorch's, with what they mean on this engine.

NumPy controls threads and every computation here is deterministic, so those settings are stored
and returned, and change nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from .._arrays.devices import CPU, as_device, default, device, on_cuda_start
from .._arrays.dtypes import LEGACY_NAMES, dtype, set_default_dtype
from .._arrays.once import making
from .._autograd.effects import structure
from .._ops.declare.public import FUNCTIONS
from .._user_code.sites import warning_level
from .storages import TypedStorage, UntypedStorage
from .tensor import Tensor


def _function(fn: Any) -> Any:
    FUNCTIONS[fn.__name__] = fn
    return fn


# --- kinds of objects -----------------------------------------------------------------------------


@_function
def is_tensor(obj: Any, /) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


@_function
def is_storage(obj: Any, /) -> bool:
    """Whether an object is the untyped memory of a tensor."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


@_function
def typename(obj: Any, /) -> str:
    """An object's type in words: `torch.FloatTensor`, `int`, …"""
    if isinstance(obj, Tensor):
        return str(obj.type())
    cls = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(cls, "__module__", "") or ""
    if module.split(".")[0] == "tautograd":
        module = module.replace("tautograd", "torch", 1) if ".nn." in module else "torch"
    return cls.__qualname__ if module in ("", "builtins") else f"{module}.{cls.__qualname__}"


@_function
def is_inference(input: Tensor) -> bool:
    """Whether a tensor was made in inference mode."""
    return bool(input.is_inference())


# --- defaults -------------------------------------------------------------------------------------


@_function
def set_default_tensor_type(t: Any, /) -> None:
    """Set the default dtype, the old way: by `torch.DoubleTensor` or its name."""
    if isinstance(t, str):
        by_name = {f"torch.{name}Tensor": kind for kind, name in LEGACY_NAMES.items()}
        if t not in by_name:
            raise TypeError(f"invalid type: '{t}'")
        t = by_name[t]
    kind = t if isinstance(t, dtype) else getattr(t, "dtype", None)
    if not isinstance(kind, dtype):
        raise TypeError("invalid type object")
    if not kind.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    set_default_dtype(kind)
    if not _Settings.warned_of_tensor_type:
        import warnings

        _Settings.warned_of_tensor_type = True
        warnings.warn(
            "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
            "torch.set_default_dtype() and torch.set_default_device() as alternatives.",
            UserWarning,
            stacklevel=warning_level(),
        )


@_function
def get_default_device() -> device:
    """The device of new tensors."""
    return default.device or CPU


@_function
def set_default_device(device: Any) -> None:
    """Set the device of new tensors; None is the CPU."""
    found = CPU if device is None else as_device(device)
    default.device = None if found.type == "cpu" else found


class _Settings:
    threads = os.cpu_count() or 1
    interop_threads = os.cpu_count() or 1
    deterministic = False
    warn_only = False
    matmul_precision = "highest"
    warn_always = False
    warned_of_tensor_type = False


on_num_threads: list[Callable[[int], None]] = []
"""Code with its own threads adds a callback here once it is ready; a half-imported module is not."""


@_function
def get_num_threads() -> int:
    """The requested number of threads."""
    return _Settings.threads


@_function
def set_num_threads(num: Any, /) -> None:
    """Request a number of threads (stored; NumPy's own libraries decide, compiled programs obey)."""
    count = _positive("set_num_threads", num)
    with making:  # so that the last value announced is the one stored
        _Settings.threads = count
        for use in on_num_threads:
            use(count)


@_function
def get_num_interop_threads() -> int:
    """The requested number of threads between operations."""
    return _Settings.interop_threads


@_function
def set_num_interop_threads(num: Any, /) -> None:
    """Request a number of threads between operations (stored; operations run one by one)."""
    _Settings.interop_threads = _positive("set_num_interop_threads", num)


def _positive(name: str, num: Any) -> int:
    if isinstance(num, bool) or not isinstance(num, int):
        raise RuntimeError(f"{name} expects an int, but got {type(num).__name__}")
    if num <= 0 or num >= 1 << 31:
        raise RuntimeError(f"{name} expects a positive integer that a C int holds, but got {num}")
    return num


@_function
def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Request algorithms that give the same result every time: there are no others."""
    for label, value in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(
                f"_set_deterministic_algorithms(): argument {label} must be bool, not "
                f"{type(value).__name__}"
            )
    _Settings.deterministic, _Settings.warn_only = mode, warn_only
    _tell_gpu()


@_function
def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic algorithms were requested."""
    return _Settings.deterministic


@_function
def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether they were requested with `warn_only`."""
    return _Settings.warn_only


@_function
def set_deterministic_debug_mode(debug_mode: Any) -> None:
    """Set it to 0 or "default", 1 or "warn", 2 or "error"."""
    names = {"default": 0, "warn": 1, "error": 2}
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    level = names.get(debug_mode, -1) if isinstance(debug_mode, str) else debug_mode
    if level not in (0, 1, 2):
        raise RuntimeError(
            "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
            f"{debug_mode}"
            if isinstance(debug_mode, str)
            else f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


@_function
def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, as for `set_deterministic_debug_mode`."""
    return (1 if _Settings.warn_only else 2) if _Settings.deterministic else 0


@_function
def get_float32_matmul_precision() -> str:
    """The requested precision of matrix products."""
    return _Settings.matmul_precision


@_function
def set_float32_matmul_precision(precision: str) -> None:
    """Request a precision of matrix products: a GPU uses TF32 unless it is the highest."""
    if precision in ("highest", "high", "medium"):
        _Settings.matmul_precision = precision
        _tell_gpu()


def of_computing() -> tuple[bool, str]:
    """The settings that change how a GPU computes."""
    return _Settings.deterministic, _Settings.matmul_precision


def _tell_gpu(backend: Any = None) -> None:
    """Pass the relevant settings to the GPU, if one is in use."""
    found = backend or _gpus.get("backend")
    if found is not None:
        _gpus["backend"] = found
        structure[0] += 1  # invalidates programs compiled for other settings
        found.set_tf32(_Settings.matmul_precision != "highest")
        found.deterministic = _Settings.deterministic


_gpus: dict[str, Any] = {}
on_cuda_start.append(_tell_gpu)


@_function
def set_flush_denormal(mode: bool) -> bool:
    """Returns False: flushing of denormal numbers cannot be set."""
    return False


@_function
def is_warn_always_enabled() -> bool:
    """Whether one-time warnings are raised every time."""
    return _Settings.warn_always


@_function
def set_warn_always(b: bool, /) -> None:
    """Set whether one-time warnings are raised every time."""
    _Settings.warn_always = bool(b)
