"""Drawing under `vmap`: whether every example gets numbers of its own is what `randomness` says.

A draw outside `vmap` is a call of an array-level sampler. Inside, the innermost `vmap` decides
first: `"error"` refuses, `"same"` draws once for all its examples, `"different"` draws an array
with one more dimension in front, which becomes its batch; then the next one out decides about that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays.batched import BatchedArray
from .._arrays.formats import empty_preserving, preserve_format
from .._autograd.modes import modes
from .._autograd.views import bump, check_writable
from .._ops.public import write_into
from .._ops.writing import refuse_overlap, unrecorded
from .._random import lay_out, normal
from .random_nodes import drawn
from .random_state import checked
from .tensor import Tensor

Sampler = Callable[..., Any]  # (generator, shape, …) -> array

_REFUSED = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
    "'different' randomness flags on vmap or perform the randomness operation out of vmap"
)


def refuse_random() -> None:
    """Inside a `vmap` that allows no random numbers, say so."""
    if any(level.randomness == "error" for level in modes.vmap_levels):
        raise RuntimeError(_REFUSED)


def draw(
    sampler: Sampler, generator: Any, shape: tuple[int, ...], *args: Any, **kwargs: Any
) -> Any:
    """A new array of this shape, for each example if the `vmap`s in progress say so."""
    source = checked(generator)
    if not modes.vmap_levels:
        return sampler(source, shape, *args, **kwargs)
    refuse_random()
    own = [level for level in modes.vmap_levels if level.randomness == "different"]
    array = sampler(source, (*(level.size for level in own), *shape), *args, **kwargs)
    for level in own:
        array = BatchedArray(array, level.number)
    return array


def fill(
    tensor: Tensor, node: str, sampler: Sampler, generator: Any, *args: Any, **kwargs: Any
) -> Tensor:
    """Fill a tensor in place, in the order of its memory; a gradient through it ends here."""
    check_writable(tensor)
    source = checked(generator)
    array = tensor._data
    same: list[int] = []
    if modes.vmap_levels:
        refuse_random()
        array, same = _as_allowed(array)
    values = _in_memory_order(array, sampler, source, args, kwargs)
    return write_drawn(tensor, node, _spread(values, tensor._data, same))


def write_drawn(tensor: Tensor, node: str, values: Any) -> Tensor:
    """Put numbers that were drawn for a tensor into its memory."""
    if isinstance(tensor._data, np.ndarray):
        refuse_overlap(tensor._data)
    if unrecorded(tensor):
        np.copyto(tensor._data, values, casting="unsafe")
        bump(tensor)
        return tensor
    return write_into(tensor, drawn(node, values, tensor), node)


def fill_like(
    tensor: Tensor,
    kind: Any,
    memory_format: Any,
    sampler: Sampler,
    generator: Any,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """A new array laid out as another, filled in the order of its memory."""
    source = checked(generator)
    if modes.vmap_levels:
        return draw(sampler, generator, tuple(tensor.shape), *args, **kwargs)
    array = empty_preserving(tensor._data, kind, memory_format or preserve_format)
    array[...] = _in_memory_order(array, sampler, source, args, kwargs)
    return array


def per_example(sampler: Sampler, source: Any, values: Any) -> Any:
    """Draws that depend on values: `sampler(source, values)`, for each example of each batch."""
    if not modes.vmap_levels:
        return sampler(source, values)
    refuse_random()
    return _through_levels(sampler, source, values, modes.vmap_levels[::-1])


def _through_levels(sampler: Sampler, source: Any, values: Any, levels: tuple[Any, ...]) -> Any:
    if not levels:
        return sampler(source, values)
    level, outer = levels[0], levels[1:]
    batched = isinstance(values, BatchedArray) and values.level == level.number
    if level.randomness == "same":
        if batched:
            raise RuntimeError(
                "Vmap does not currently support same randomness with a batched tensor input. "
                "Please file an issue with functorch"
            )
        return _through_levels(sampler, source, values, outer)
    examples = values.data if batched else [values] * level.size
    drawn = [_through_levels(sampler, source, one, outer) for one in examples]
    return BatchedArray(np.stack(drawn), level.number)


def _in_memory_order(array: Any, sampler: Sampler, source: Any, args: Any, kwargs: Any) -> Any:
    shape = tuple(array.shape)
    if np.ndim(array) < 2 or array.flags.c_contiguous:
        return sampler(source, shape, *args, **kwargs)
    if sampler is normal:
        kwargs = {**kwargs, "contiguous": False}
    run = sampler(source, (array.size,), *args, **kwargs)
    return lay_out(run, shape, array.strides)


def _as_allowed(array: Any) -> tuple[Any, list[int]]:
    """The plain array to fill, without the batches whose examples get the same numbers."""
    levels = {level.number: level.randomness for level in modes.vmap_levels}
    batches = []
    while isinstance(array, BatchedArray):
        batches.append(array.level)
        array = array.data
    if any(r == "different" and n not in batches for n, r in levels.items()):
        raise RuntimeError(
            "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will "
            "appear like same randomness. If this is necessary for your usage, please file an "
            "issue with functorch."
        )
    same = [at for at, n in enumerate(reversed(batches)) if levels[n] == "same"]
    keep = tuple(0 if axis in same else slice(None) for axis in range(array.ndim))
    return (array[keep] if array.size else array), same


def _spread(values: Any, like: Any, same: list[int]) -> Any:
    """The values drawn, with a batch for each example where they are the same for all."""
    levels = []
    inner = like
    while isinstance(inner, BatchedArray):
        levels.append(inner.level)
        inner = inner.data
    for axis in same:
        values = np.expand_dims(values, axis)
    values = np.broadcast_to(values, inner.shape) if same else values
    for number in reversed(levels):
        values = BatchedArray(values, number)
    return values
