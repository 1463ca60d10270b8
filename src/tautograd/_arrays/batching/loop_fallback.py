"""The fallback for functions without a batching rule: run on each example, and stack the results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .batched import BatchedArray, batch_size, is_batched


def example(value: Any, level: int, b: int) -> Any:
    """Example `b` of a value; unbatched values are the same for all."""
    if is_batched(value, level):
        data = value.data
        return data[b] if data.shape[0] else np.zeros_like(data, shape=data.shape[1:])
    if isinstance(value, (list, tuple)):
        return type(value)(example(v, level, b) for v in value)
    return value


def one_by_one(function: Callable[..., Any], level: int, args: Any, kwargs: Any) -> Any:
    """Run a function on each example and stack what it returns."""
    size = batch_size((*args, *kwargs.values()), level)
    results = [
        function(
            *(example(a, level, b) for a in args),
            **{k: example(v, level, b) for k, v in kwargs.items()},
        )
        for b in range(max(size, 1))  # of no examples: what zeros give, which has the shapes
    ]
    return _stack(results, level, size)


def _stack(results: list[Any], level: int, size: int) -> Any:
    first = results[0]
    if first is None:
        return None
    if isinstance(first, (tuple, list)):
        parts = [_stack(list(column), level, size) for column in zip(*results, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    whole = np.stack([r if hasattr(r, "shape") else np.asarray(r) for r in results])
    return BatchedArray(whole[:size], level)
