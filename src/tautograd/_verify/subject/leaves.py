"""A tensor whose gradient is checked, and values in double precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .engines import engine_of, is_tensor, reals_in


@dataclass
class Leaf:
    """A tensor whose gradient is checked."""

    name: str
    tensor: Any
    start: int  # offset of its numbers in the row
    is_parameter: bool

    @property
    def reals(self) -> int:
        return reals_in(self.tensor)

    def index_of(self, place: int) -> tuple[int, ...]:
        """The index in the tensor for a number of the row."""
        flat = (place - self.start) // (2 if self.tensor.is_complex() else 1)
        return tuple(int(i) for i in np.unravel_index(flat, tuple(self.tensor.shape)))


def precision_of(tensor: Any) -> str:
    return str(tensor.dtype).rpartition(".")[2]


def as_double(value: Any) -> Any:
    if is_tensor(value) and (value.is_floating_point() or value.is_complex()):
        engine = engine_of([value])
        wide = engine.complex128 if value.is_complex() else engine.float64
        return value.detach().to(wide).requires_grad_(value.requires_grad)
    return value
