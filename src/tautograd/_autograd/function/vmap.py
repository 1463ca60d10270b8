"""A custom Function's own `vmap` rule: whole batches in, whole batches and their dimensions out."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..._arrays.batching.batched import is_batched
from ..._tensor.tensor import Tensor
from ..modes import change, modes
from ..transforms.vmap import batch, unbatch


class VmapInfo(NamedTuple):
    """What a `vmap` rule is told of the vmap around it."""

    batch_size: int
    randomness: str


def run_own_vmap(function: Any, number: int, args: tuple[Any, ...]) -> Any:
    """Call `function.vmap` on the batches of one level, outside of that level."""
    if function.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it has both generate_vmap_rule=True "
            "and an overridden vmap staticmethod. Please set generate_vmap_rule=False or delete "
            "the overridden vmap staticmethod to avoid ambiguity."
        )
    levels = modes.vmap_levels
    level = next(one for one in levels if one.number == number)
    in_dims, whole = [], []
    for a in args:
        batched = isinstance(a, Tensor) and is_batched(a._data, number)
        in_dims.append(0 if batched else None)
        whole.append(unbatch(a, 0, level) if batched else a)
    change(vmap_levels=levels[: levels.index(level)])
    try:
        info = VmapInfo(level.size, level.randomness)
        found = function.vmap(info, tuple(in_dims), *whole)
    finally:
        change(vmap_levels=levels)
    if not isinstance(found, tuple) or len(found) != 2:
        raise RuntimeError(
            f"Expected the vmap staticmethod of {function.__name__} to have two returns, an output "
            "and out_dims with pytree structure compatible with the output."
        )
    outputs, out_dims = found
    if isinstance(outputs, Tensor):
        return _rebatch(outputs, out_dims, level)
    dims = out_dims if isinstance(out_dims, (tuple, list)) else (out_dims,) * len(outputs)
    return type(outputs)(_rebatch(o, d, level) for o, d in zip(outputs, dims, strict=True))


def _rebatch(output: Any, dim: int | None, level: Any) -> Any:
    if dim is None or not isinstance(output, Tensor):
        return output
    return batch(output, dim % output.ndim, level)
