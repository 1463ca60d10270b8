"""How `fully_shard` rounds what it sends, and where it keeps what nobody computes with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtype to compute in, the one gradients are summed in, and the one of what forward returns."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Shards stay on the device that computes."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Shards lie in the CPU's memory, which is where everything lies on a CPU."""

    pin_memory: bool = True
