"""cuDNN, which there is none of; its switches can be set."""

from __future__ import annotations

from typing import Any

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


def is_available() -> bool:
    """Whether cuDNN can be used: no."""
    return False


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN would take a tensor: no."""
    return False


def version() -> int | None:
    """The version of cuDNN: none."""
    return None
