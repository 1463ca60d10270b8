"""Switches of CUDA's libraries, and of the kernels of attention: they can be set and asked for.

Attention is one computation here, whichever kernels a program allows.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._tensor.settings import get_float32_matmul_precision, set_float32_matmul_precision

__all__ = [
    "allow_fp16_bf16_reduction_math_sdp",
    "can_use_cudnn_attention",
    "can_use_efficient_attention",
    "can_use_flash_attention",
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_built",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "preferred_blas_library",
    "preferred_linalg_library",
    "sdp_kernel",
]


class _Products:
    """How matrices are multiplied on a GPU."""

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False
    fp32_precision = "none"

    @property
    def allow_tf32(self) -> bool:
        """Whether float32 may be multiplied as TF32: the same as a precision that is not the highest."""
        return bool(get_float32_matmul_precision() != "highest")

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        set_float32_matmul_precision("high" if allowed else "highest")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _Products.__dict__:
            raise AttributeError(f"Unknown attribute {name}")
        object.__setattr__(self, name, value)


matmul = _Products()


def is_built() -> bool:
    """Whether CUDA is part of this build: no."""
    return False


# ---- which kernels attention may use -------------------------------------------------------------

_allowed = {"cudnn": True, "flash": True, "mem_efficient": True, "math": True, "overrideable": True}
_priority = [1, 2, 0, 3, 4]
_reduced = False


def enable_flash_sdp(enabled: bool) -> None:
    """Allow flash attention, or not."""
    _allowed["flash"] = bool(enabled)


def flash_sdp_enabled() -> bool:
    """Whether flash attention is allowed."""
    return _allowed["flash"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Allow memory-efficient attention, or not."""
    _allowed["mem_efficient"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Whether memory-efficient attention is allowed."""
    return _allowed["mem_efficient"]


def enable_math_sdp(enabled: bool) -> None:
    """Allow attention as its formula says, or not."""
    _allowed["math"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """Whether attention as its formula says is allowed."""
    return _allowed["math"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Allow cuDNN's attention, or not."""
    _allowed["cudnn"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Whether cuDNN's attention is allowed."""
    return _allowed["cudnn"]


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Allow sums in half precision inside attention, or not; sums are in float32 either way."""
    global _reduced
    _reduced = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Whether sums in half precision are allowed inside attention."""
    return _reduced


def is_flash_attention_available() -> bool:
    """Whether there is a kernel for flash attention: no."""
    return False


def can_use_flash_attention(params: Any, debug: bool = False) -> bool:
    """Whether flash attention could take these operands: no."""
    return False


def can_use_efficient_attention(params: Any, debug: bool = False) -> bool:
    """Whether memory-efficient attention could take these operands: no."""
    return False


def can_use_cudnn_attention(params: Any, debug: bool = False) -> bool:
    """Whether cuDNN's attention could take these operands: no."""
    return False


@contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[dict[Any, Any]]:
    """Allow some kernels of attention inside a `with` block (`nn.attention.sdpa_kernel` is newer)."""
    import warnings

    warnings.warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will "
        "be removed. Please see `torch.nn.attention.sdpa_kernel()` for the new context manager, with "
        "updated signature.",
        FutureWarning,
        stacklevel=3,
    )
    before = dict(_allowed)
    _allowed.update(
        flash=enable_flash,
        math=enable_math,
        mem_efficient=enable_mem_efficient,
        cudnn=enable_cudnn,
        overrideable=False,
    )
    try:
        yield {}
    finally:
        _allowed.update(before)


# ---- which library computes ----------------------------------------------------------------------


class _LinalgBackend(enum.Enum):
    Default, Cusolver, Magma = range(3)

    def __repr__(self) -> str:
        return f"_LinalgBackend.{self.name}"

    __str__ = __repr__


class _BlasBackend(enum.Enum):
    Default, Cublas, Cublaslt, Ck = range(4)

    def __repr__(self) -> str:
        return f"_BlasBackend.{self.name}"

    __str__ = __repr__


_LINALG = {
    "default": _LinalgBackend.Default,
    "cusolver": _LinalgBackend.Cusolver,
    "magma": _LinalgBackend.Magma,
}
_BLAS = {
    "default": _BlasBackend.Default,
    "cublas": _BlasBackend.Cublas,
    "hipblas": _BlasBackend.Cublas,
    "cublaslt": _BlasBackend.Cublaslt,
    "hipblaslt": _BlasBackend.Cublaslt,
    "ck": _BlasBackend.Ck,
}
_preferred: dict[str, enum.Enum] = {"linalg": _LinalgBackend.Default, "blas": _BlasBackend.Cublas}


def _prefer(what: str, backend: Any, known: dict[str, Any], kind: type[enum.Enum]) -> enum.Enum:
    if isinstance(backend, str):
        if backend not in known:
            raise RuntimeError(f"Unknown input value. Choose from: {', '.join(known)}.")
        backend = known[backend]
    if isinstance(backend, kind):
        _preferred[what] = backend
    elif backend is not None:
        raise RuntimeError("Unknown input value type.")
    return _preferred[what]


def preferred_linalg_library(backend: Any = None) -> enum.Enum:
    """Note which library linear algebra on a GPU should use; returns the one noted."""
    return _prefer("linalg", backend, _LINALG, _LinalgBackend)


def preferred_blas_library(backend: Any = None) -> enum.Enum:
    """Note which library products on a GPU should use; returns the one noted."""
    return _prefer("blas", backend, _BLAS, _BlasBackend)
