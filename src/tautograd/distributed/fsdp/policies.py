"""The dtypes in which `fully_shard` computes and sends, and where it keeps idle shards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes to compute in, to sum gradients in, and of what forward returns."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Shards stay on the compute device."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Shards are kept in CPU memory; on a CPU everything is."""

    pin_memory: bool = True
