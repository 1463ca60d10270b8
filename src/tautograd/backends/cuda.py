"""CUDA's libraries, which there are none of; their switches can be set."""

from __future__ import annotations

__all__ = ["is_built", "matmul"]


class _Products:
    """How matrices are multiplied on a GPU."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True


matmul = _Products()


def is_built() -> bool:
    """Whether CUDA is part of this build: no."""
    return False
