"""Drawing under `vmap`: whether every example gets numbers of its own is what `randomness` says.

A draw outside `vmap` is a call of an array-level sampler. Inside, the innermost `vmap` decides
first: `"error"` refuses, `"same"` draws once for all its examples, `"different"` draws an array
with one more dimension in front, which becomes its batch; then the next one out decides about that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays.batching.batched import BatchedArray
from .._arrays.formats import empty_preserving, preserve_format
from .._autograd.modes import modes
from .._autograd.views import bump, check_writable
from .._ops.declare.in_place_twins import write_into
from .._ops.declare.memory_overlap import refuse_overlap
from .._ops.shape.copy_fill import unrecorded
from .._random import Generator, lay_out, normal
from .random_nodes import drawn
from .random_state import checked, on_meta
from .tensor import Tensor

Sampler = Callable[..., Any]  # (generator, shape, …) -> array

_NOBODYS = Generator()  # whose numbers are thrown away
# Of these, PyTorch checks the parameters' kinds on the device meta, but not their values.
_ANY_VALUE_ON_META = {"uniform", "random", "randint", "bernoulli"}

_REFUSED = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
    "'different' randomness flags on vmap or perform the randomness operation out of vmap"
)


def refuse_random() -> None:
    """Inside a `vmap` that allows no random numbers, say so."""
    if any(level.randomness == "error" for level in modes.vmap_levels):
        raise RuntimeError(_REFUSED)


def sampled(sampler: Sampler, source: Any, *args: Any, **kwargs: Any) -> Any:
    """What a sampler gives; a computation that is being compiled will ask it again at each replay."""
    for value in args:
        if isinstance(
            value, Tensor
        ):  # before a number is drawn: the call is made again with numbers
            raise RuntimeError(
                f"{sampler.__name__}() takes numbers, not a tensor of shape {value.shape}"
            )
    if args and type(args[0]) is tuple and (source is on_meta or 0 in args[0]):
        _refuse_parameters(sampler, source, args, kwargs)
    if source is on_meta:
        return _undrawn(args, kwargs)
    if modes.deferred is not None:
        return modes.deferred.draw(sampler, (source, *args), kwargs)
    if modes.recorder is not None:
        return modes.recorder.call(sampler, (source, *args), kwargs, sampler.__name__)
    with np.errstate(all="ignore"):  # a draw may be beyond its dtype
        found = sampler(source, *args, **kwargs)
    if modes.exporter is not None:
        modes.exporter.drawn(found, sampler, args, kwargs)
    return found


def bound(sampler: Sampler, **options: Any) -> Sampler:
    """A sampler with options that are given already."""

    def call(source: Any, *values: Any) -> Any:
        return sampler(source, *values, **options)

    call.__name__ = sampler.__name__
    call.sampler, call.options = sampler, options  # type: ignore[attr-defined]
    return call


def _refuse_parameters(sampler: Sampler, source: Any, args: Any, kwargs: Any) -> None:
    """Where no number will be drawn, raise what one would: parameters are checked all the same."""
    with np.errstate(all="ignore"):
        try:
            sampler(_NOBODYS, (1,), *args[1:], **kwargs)
        except NotImplementedError:  # of a kernel, which is not asked for nothing
            if source is on_meta and sampler.__name__ not in _ANY_VALUE_ON_META:
                raise
        except RuntimeError:
            if source is not on_meta or sampler.__name__ not in _ANY_VALUE_ON_META:
                raise


def _undrawn(args: Any, kwargs: Any) -> Any:
    """What a sampler would give on the device meta: a shape, and no number is drawn."""
    from .._arrays.meta.meta_array import new

    shape = args[0] if isinstance(args[0], tuple) else args[0].shape
    return new(shape, kwargs["dtype"] if "dtype" in kwargs else args[0].dtype)


def draw(
    sampler: Sampler, generator: Any, shape: tuple[int, ...], *args: Any, **kwargs: Any
) -> Any:
    """A new array of this shape, for each example if the `vmap`s in progress say so."""
    source = checked(generator)
    if source.on_gpu:
        sampler = on_gpu(sampler)
    if not modes.vmap_levels:
        return sampled(sampler, source, shape, *args, **kwargs)
    refuse_random()
    own = [level for level in modes.vmap_levels if level.randomness == "different"]
    array = sampled(sampler, source, (*(level.size for level in own), *shape), *args, **kwargs)
    for level in own:
        array = BatchedArray(array, level.number)
    return array


def on_gpu(sampler: Sampler) -> Sampler:
    """A sampler whose numbers end up on the GPU of its generator."""
    from .._random.on_gpu import sampler_on_gpu

    return sampler_on_gpu(sampler)


def fill(
    tensor: Tensor, node: str, sampler: Sampler, generator: Any, *args: Any, **kwargs: Any
) -> Tensor:
    """Fill a tensor in place, in the order of its memory; a gradient through it ends here."""
    check_writable(tensor)
    array = tensor._data
    source = checked(generator, array)
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
        modes.quietly(np.copyto, tensor._data, values, casting="unsafe")
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
    source = checked(generator, tensor._data)
    if modes.vmap_levels:
        refuse_random()
        own = [level.number for level in modes.vmap_levels if level.randomness == "different"]
        plain, batches = tensor._data, _batches(tensor._data)
        if batches[::-1] != own:
            return draw(sampler, source, tuple(tensor.shape), *args, **kwargs)
        for _ in batches:
            plain = plain.data
        array = empty_preserving(plain, kind, memory_format or preserve_format)
        array[...] = _in_memory_order(array, sampler, source, args, kwargs)
        for number in own:
            array = BatchedArray(array, number)
        return array
    array = empty_preserving(tensor._data, kind, memory_format or preserve_format)
    array[...] = _in_memory_order(array, sampler, source, args, kwargs)
    return array


def per_example(sampler: Sampler, source: Any, *values: Any) -> Any:
    """Draws that depend on values: `sampler(source, *values)`, for each example of each batch."""
    if source.on_gpu:
        sampler = on_gpu(sampler)
    if not modes.vmap_levels:
        return sampled(sampler, source, *values)
    refuse_same(*values)
    different = [level for level in modes.vmap_levels if level.randomness == "different"]
    return _through_levels(sampler, source, values, different)


def _through_levels(sampler: Sampler, source: Any, values: Any, levels: list[Any]) -> Any:
    if not levels:
        return sampled(sampler, source, *values)
    *outer, level = levels

    def example(value: Any, at: int) -> Any:
        batched = isinstance(value, BatchedArray) and value.level == level.number
        return value.data[at] if batched else value

    chosen = ([example(value, at) for value in values] for at in range(level.size))
    found = [_through_levels(sampler, source, one, outer) for one in chosen]
    return BatchedArray(np.stack(found), level.number)


def refuse_same(*arrays: Any) -> None:
    """Numbers that depend on a batch cannot be the same for all its examples."""
    refuse_random()
    same = {level.number for level in modes.vmap_levels if level.randomness == "same"}
    if any(number in same for array in arrays for number in _batches(array)):
        raise RuntimeError(
            "Vmap does not currently support same randomness with a batched tensor input. "
            "Please file an issue with functorch"
        )


def check_batches(target: Any, values: Any) -> None:
    """Refuse to fill a tensor that the examples share with numbers that differ between them."""
    if not modes.vmap_levels:
        return
    refuse_same(values)
    if not set(_batches(values)) <= set(_batches(target)):
        raise RuntimeError(
            "vmap: aten::bernoulli_(self, *extra_args) is not possible because there exists a "
            "Tensor `other` in extra_args that has more elements than `self`. This happened due to "
            "`other` being vmapped over but `self` not being vmapped over in a vmap. Please try to "
            "use out-of-place operators instead of aten::bernoulli_."
        )
    _check_different(target)


def _check_different(target: Any) -> None:
    batches = _batches(target)
    if any(v.randomness == "different" and v.number not in batches for v in modes.vmap_levels):
        raise RuntimeError(
            "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will "
            "appear like same randomness. If this is necessary for your usage, please file an "
            "issue with functorch."
        )


def _batches(array: Any) -> list[int]:
    """The `vmap`s that an array has a batch of, innermost first."""
    found = []
    while isinstance(array, BatchedArray):
        found.append(array.level)
        array = array.data
    return found


def _in_memory_order(array: Any, sampler: Sampler, source: Any, args: Any, kwargs: Any) -> Any:
    shape = tuple(array.shape)
    ordered = np.ndim(array) < 2 or array.flags.c_contiguous
    if source.on_gpu:
        sampler = on_gpu(sampler)
    elif sampler is normal and not ordered:
        kwargs = {**kwargs, "contiguous": False}
    if ordered:
        return sampled(sampler, source, shape, *args, **kwargs)
    run = sampled(sampler, source, (array.size,), *args, **kwargs)
    return lay_out(run, shape, array.strides)


def _as_allowed(array: Any) -> tuple[Any, list[int]]:
    """The plain array to fill, without the batches whose examples get the same numbers."""
    _check_different(array)
    levels = {level.number: level.randomness for level in modes.vmap_levels}
    batches = _batches(array)
    for _ in batches:
        array = array.data
    same = [at for at, n in enumerate(reversed(batches)) if levels[n] == "same"]
    if same:  # drawn apart, then copied to each example
        array = np.empty([n for axis, n in enumerate(array.shape) if axis not in same], np.bool_)
    return array, same


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
