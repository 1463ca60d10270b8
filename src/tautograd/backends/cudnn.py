"""cuDNN, which convolutions and attention use on a GPU if its Python front end is there; and its switches."""

from __future__ import annotations

from typing import Any

from .._arrays.devices import cuda_backend
from ._switches import Precision, switches

__all__ = [
    "allow_tf32",
    "benchmark",
    "benchmark_limit",
    "deterministic",
    "enabled",
    "flags",
    "is_acceptable",
    "is_available",
    "set_flags",
    "version",
]

enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32 = True
fp32_precision = "none"
depthwise_kernel = "auto"
conv = Precision()
rnn = Precision()

set_flags, flags = switches(
    __name__,
    enabled=False,
    benchmark=False,
    benchmark_limit=10,
    deterministic=False,
    allow_tf32=True,
    fp32_precision="none",
    depthwise_kernel="auto",
)


def _library() -> Any:
    if cuda_backend() is None:
        return None
    from .._arrays.cuda.cudnn import cudnn

    return cudnn()


def is_available() -> bool:
    """Whether cuDNN can be used: on a GPU, with `nvidia-cudnn-frontend` installed."""
    return _library() is not None


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN would take a tensor."""
    return bool(tensor.is_cuda and tensor.is_floating_point()) and is_available()


def version() -> int | None:
    """The version of cuDNN, or None where there is none."""
    library = _library()
    return None if library is None else int(library.version)
