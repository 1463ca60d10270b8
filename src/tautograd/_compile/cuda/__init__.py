"""Programs on a GPU: the same record, lowered to CUDA C through CuPy, and replayed as a CUDA graph."""

from __future__ import annotations

from .replay import CudaReplay

__all__ = ["CudaReplay"]
