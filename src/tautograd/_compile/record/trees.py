"""What a recording looks into: tuples, lists, dictionaries and the user's dataclasses."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor
from ..._trees.nests import Nests, fields_of_dataclass
from .recorded_array import Recorded

NESTS = Nests(fields=fields_of_dataclass, atoms=(Tensor, Recorded, np.ndarray))


def tensors_in(value: Any) -> Iterable[Tensor]:
    """The tensors among arguments or results, in order, each once."""
    return {id(leaf): leaf for leaf in NESTS.leaves(value) if isinstance(leaf, Tensor)}.values()


def memory_of(*arguments: Any) -> list[Any]:
    """The arrays of the tensors among arguments, in order."""
    return [tensor._data for tensor in tensors_in(arguments)]


def was_swapped(memory: list[Any], *arguments: Any) -> bool:
    """Whether another thread has given a tensor other memory (`x.data = ...`) since `memory_of`.

    What was noted of a run meanwhile may speak of memory that is no argument's any more.
    """
    if threading.active_count() == 1:
        return False
    now = memory_of(*arguments)
    return any(a is not b for a, b in zip(memory, now, strict=False))


def replaced(value: Any, by: dict[int, Any]) -> Any:
    """Arguments with other things in place of some tensors."""
    return NESTS.mapped(
        value, lambda leaf: by.get(id(leaf), leaf) if isinstance(leaf, Tensor) else leaf
    )
