"""How masked tensors are made."""

from __future__ import annotations

from typing import Any

from ..._ops.declare.python_surface import speak
from .core import MaskedTensor, as_masked_tensor

__all__ = ["as_masked_tensor", "masked_tensor"]


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> Any:
    """A masked tensor that is a leaf, with copies of data and mask."""
    return MaskedTensor(data, mask, requires_grad)


speak(globals(), ["masked_tensor"])
