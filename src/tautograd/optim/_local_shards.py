"""A step on parameters sharded over ranks: each rank updates its shards, from its shards of the gradients.

That is the whole step for an elementwise optimizer. Its states are sharded like the parameters.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .._tensor.tensor import Tensor
from ..distributed.tensor._array import DistributedArray
from ..distributed.tensor._redistribute import redistributed


@contextlib.contextmanager
def shards_of(optimizer: Any, group: dict[str, Any]) -> Iterator[None]:
    """A context in which a group's distributed parameters, gradients and states are replaced by this rank's shards."""
    whole = [(p, p._data) for p in group["params"] if type(p._data) is DistributedArray]
    if whole and not optimizer._by_elements:
        raise RuntimeError(
            f"{type(optimizer).__name__} computes with whole parameters, and these are DTensors, of which "
            "each rank has a part"
        )
    gradients = []
    for p, data in whole:
        grad = p._grad
        if grad is not None:
            gradients.append((grad, grad._data))
            if type(grad._data) is DistributedArray:
                grad._data = redistributed(grad._data, data.placements).local
        for state in _spread_states(optimizer, p):
            state._data = state._data.local
        p._data = data.local
    try:
        yield
    finally:
        for grad, data in gradients:
            grad._data = data
        for p, data in whole:
            local = p._data
            p._data = data.like(local)
            for state in optimizer.state.get(p, {}).values():
                if isinstance(state, Tensor) and state.dim() and state._data.shape == local.shape:
                    state._data = data.like(state._data)


def _spread_states(optimizer: Any, p: Any) -> list[Any]:
    return [
        state
        for state in optimizer.state.get(p, {}).values()
        if isinstance(state, Tensor) and type(state._data) is DistributedArray
    ]
