"""Switches of PyTorch's libraries, kept for programs that set them: none changes a result here."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .._lazy import named_later
from . import cuda, cudnn, mkl, mkldnn, mps, openmp

__all__ = [
    "cpu",
    "cuda",
    "cudnn",
    "cusparselt",
    "flags",
    "fp32_precision",
    "mha",
    "miopen",
    "mkl",
    "mkldnn",
    "mps",
    "nnpack",
    "openmp",
    "opt_einsum",
    "quantized",
    "set_flags",
]

fp32_precision = "none"
_frozen = False


def set_flags(_fp32_precision: str = "none") -> tuple[str]:
    """Set how float32 may be rounded; returns what was set before."""
    global fp32_precision
    before = (fp32_precision,)
    if _fp32_precision != "none":
        fp32_precision = _fp32_precision
    return before


@contextmanager
def flags(fp32_precision: str = "none") -> Iterator[None]:
    """Set how float32 may be rounded inside a `with` block."""
    (before,) = set_flags(fp32_precision)
    try:
        yield
    finally:
        globals()["fp32_precision"] = before


def flags_frozen() -> bool:
    """Whether switches may be set only in `with` blocks."""
    return _frozen


def disable_global_flags() -> None:
    """Ask that switches be set only in `with` blocks; as none has an effect, it is only noted."""
    global _frozen
    _frozen = True


if TYPE_CHECKING:
    from . import cpu, cusparselt, mha, miopen, nnpack, opt_einsum, quantized
else:
    __getattr__, __dir__ = named_later(
        __name__,
        ("cpu", "cusparselt", "kleidiai", "mha", "miopen", "nnpack", "opt_einsum", "quantized"),
    )
