"""Devices: where an array lives, and how one is made there or moved.

Operations never ask for the device: NumPy's dispatch protocols dispatch to the type of the arrays
they are given. Only *creation* has no array to dispatch on, and goes through `creator`; `moved`
copies an array to another device. The CPU's arrays are NumPy's, a GPU's are `cuda_array`'s.
"""

from __future__ import annotations

import re
import threading
from functools import partial
from typing import Any

import numpy as np

_KNOWN = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia",
    "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip


class device:  # noqa: N801 - PyTorch's name
    """`device("cpu")`: a kind of hardware and an optional index."""

    __module__ = "torch"

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __new__(cls, device: Any = None, index: int | None = None, *, type: Any = None) -> device:
        given = device if device is not None else type
        if isinstance(given, cls):
            return given
        if isinstance(given, int) and not isinstance(given, bool):
            if cuda_backend() is None:
                raise RuntimeError("Cannot access accelerator device when none is available.")
            return gpu(given)
        if not isinstance(given, str):
            shown = "" if given is None else given.__class__.__name__
            raise TypeError(
                f"device() received an invalid combination of arguments - got ({shown}), but "
                "expected one of:\n * (torch.device device)\n * (str type, int index = -1)\n"
            )
        if not given:
            raise RuntimeError("Device string must not be empty")
        if index is not None:
            if isinstance(index, bool) or not hasattr(index.__class__, "__index__"):
                found = index.__class__.__name__
                raise TypeError(f"device(): argument 'index' (position 2) must be int, not {found}")
            index = int(index)
        if index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        match = re.fullmatch(r"([a-z]+)(?::(\d+))?", given)
        if match is None:
            raise RuntimeError(f"Invalid device string: '{given}'")
        kind, number = match.groups()
        if kind not in _KNOWN:
            raise RuntimeError(
                f"Expected one of {', '.join(_KNOWN)} device type at start of device string: {kind}"
            )
        if number is not None and index is not None:
            raise RuntimeError(
                "type (string) must not include an index because index was passed explicitly: "
                f"{given}"
            )
        self = object.__new__(cls)
        self.type = kind
        self.index = int(number) if number is not None else index
        return self

    def __repr__(self) -> str:
        if self.index is None:
            return f"device(type='{self.type}')"
        return f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return device_named, (str(self),)

    def __enter__(self) -> device:
        """Make this the device of new tensors inside a `with` block."""
        default.enter(as_device(self))
        return self

    def __exit__(self, *exception: object) -> None:
        default.leave()


def device_named(name: str) -> device:
    return device(name)


CPU = device("cpu")
META = device("meta")  # shapes without memory
_GPUS: dict[int, device] = {}


class _Default(threading.local):
    """The device of tensors created without one: `device` is None for the CPU."""

    device: Any = None
    before: tuple[Any, ...] = ()

    def enter(self, where: device) -> None:
        self.before = (*self.before, self.device)
        self.device = None if where.type == "cpu" else where

    def leave(self) -> None:
        *rest, self.device = self.before
        self.before = tuple(rest)


default = _Default()

# Callbacks for when CUDA is first used, called with the backend.
on_cuda_start: list[Any] = []


def cuda_backend() -> Any:
    """The GPU backend, or None. The first call imports CuPy."""
    from .cuda.cuda_backend import find

    return find()


def gpu(index: int) -> device:
    """The device `cuda:index`, one object per index."""
    found = _GPUS.get(index)
    if found is None:
        found = _GPUS[index] = device("cuda", index)
    return found


def as_device(value: Any) -> device:
    """A usable device from anything PyTorch accepts; `None` means the default."""
    if value is None:
        return default.device or CPU
    found = value if isinstance(value, device) else device(value)
    if found.type == "cuda":
        return _usable(found)
    if found.type == "meta":
        return META
    if found.type != "cpu":
        raise RuntimeError(
            f"device '{found}' is not available: this build of tautograd computes on the CPU and, with "
            "CuPy, on NVIDIA's GPUs"
        )
    return CPU if found.index is None else found


def _usable(found: device) -> device:
    backend = cuda_backend()
    if backend is None:
        from .cuda.cuda_backend import Found

        raise AssertionError(f"Torch not compiled with CUDA enabled: {Found.reason}")
    index = backend.current_device() if found.index is None else found.index
    if index >= backend.device_count():
        raise RuntimeError(
            f"CUDA error: invalid device ordinal: {found} was asked for, and there are "
            f"{backend.device_count()} GPUs"
        )
    return gpu(index)


class _OnGpu:
    """NumPy's creation functions, for arrays on a GPU."""

    def __init__(self, prototype: Any) -> None:
        self.prototype = prototype

    def __getattr__(self, name: str) -> Any:
        return partial(getattr(np, name), like=self.prototype)


def creator(where: device) -> Any:
    """The module whose `empty`, `zeros`, `asarray`, … make arrays on this device."""
    if where.type == "cpu":
        return np
    if where.type == "meta":
        from .meta.meta_array import Creator

        return Creator()
    return _OnGpu(cuda_backend().prototype())


def is_meta(array: Any) -> bool:
    """Whether an array has a shape and no memory, judged by its class alone."""
    return getattr(type(array), "is_meta_array", False)


def one_device(arrays: Any) -> None:
    """Refuse arrays with elements beside meta arrays, with PyTorch's error; a single number may be anywhere."""
    expected: device | None = None
    for array in arrays:
        if not (is_meta(array) or (type(array) is np.ndarray and array.ndim)):
            continue
        where = META if is_meta(array) else CPU
        if expected is not None and where is not expected:
            raise RuntimeError(
                f"Tensor on device {where} is not on the expected device {expected}!"
            )
        expected = where


def device_of(array: Any) -> device:
    """The device an array lives on."""
    while type(array) is not np.ndarray:
        index = getattr(array, "gpu_index", None)
        if index is not None:
            return gpu(index)
        if is_meta(array):
            return META
        if getattr(type(array), "is_on_cpu", False):
            break
        if getattr(type(array), "is_sparse_array", False):
            array = array.values
            continue
        array = getattr(array, "data", None)  # a batch's
        if array is None:
            break
    return CPU


def moved(array: Any, where: device, order: str = "K") -> Any:
    """The array on a device: itself if it is already there, else a copy."""
    if device_of(array) == where or (where.type == "cpu" and device_of(array).type == "cpu"):
        return array
    if getattr(type(array), "is_sparse_array", False):
        if where.type == "cuda":
            raise NotImplementedError(
                f"sparse tensors are computed with on the CPU, not on {where}. Use Tensor.to_dense() first."
            )
        return array.with_parts(lambda part: moved(part, where))
    if where.type == "meta":
        from .meta.meta_array import new, on_meta

        return on_meta(array) if type(array) is np.ndarray else new(array.shape, array.dtype)
    if where.type == "cpu":
        return (
            array.host() if hasattr(array, "host") else type(array)(array.data.host(), array.level)
        )
    from .cuda.cuda_array import wrap

    if hasattr(array, "level"):  # a batch's
        return type(array)(moved(array.data, where), array.level)
    if hasattr(array, "sent_over"):  # an array being recorded
        return array.sent_over()
    source = array.host() if hasattr(array, "host") else array
    return wrap(cuda_backend().to_device(source))
