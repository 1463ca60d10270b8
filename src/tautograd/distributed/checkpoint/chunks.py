"""Chunks of a tensor in a checkpoint: which one a rank has, and assembling a region from stored ones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import tautograd as torch

Bounds = tuple[tuple[int, int], ...]  # where a chunk begins and ends along each dimension


def is_spread(value: Any) -> bool:
    """Whether a value is a `DTensor`; there are none in a program that has not loaded its module."""
    module = sys.modules.get("tautograd.distributed.tensor._array")
    return module is not None and type(getattr(value, "_data", None)) is module.DistributedArray


def own_bounds(tensor: Any) -> Bounds:
    """The bounds of this rank's chunk of a `DTensor`."""
    from ..tensor._array import local_bounds

    data = tensor._data
    return tuple(local_bounds(data.shape, data.mesh, data.placements))


def own_chunk(tensor: Any) -> Any:
    """This rank's chunk of a `DTensor`, in the form that is written."""
    if any(placement.is_partial() for placement in tensor.placements):
        raise ValueError("a DTensor with partial sums cannot be saved; redistribute it first")
    return tensor.detach().to_local().clone()


def checked_chunks(entry: Any) -> list[dict[str, Any]]:
    """The chunks of an entry of the table, validated: somebody else may have written it."""
    shape = entry["is"][1]
    chunks = entry["chunks"]
    if not isinstance(chunks, list) or not chunks:
        raise ValueError("an entry without chunks")
    for chunk in chunks:
        bounds = chunk["at"]
        fits = len(bounds) == len(shape) and all(
            type(low) is int and type(high) is int and 0 <= low <= high <= extent
            for (low, high), extent in zip(bounds, shape, strict=True)
        )
        if not fits or not isinstance(chunk["file"], str):
            raise ValueError("a chunk that does not fit its tensor")
    return chunks


def assembled(entry: dict[str, Any], bounds: Bounds | None, stored: Callable[[str], Any]) -> Any:
    """The part of a tensor within the bounds, copied from the chunks that overlap it."""
    dtype, shape = entry["is"]
    if bounds is None:
        bounds = tuple((0, extent) for extent in shape)
    size = [high - low for low, high in bounds]
    out: Any = torch.empty(size, dtype=_dtype_named(dtype))
    there = np.zeros(size, bool)
    for chunk in entry["chunks"]:
        common = [
            (max(a, c), min(b, d)) for (a, b), (c, d) in zip(bounds, chunk["at"], strict=True)
        ]
        if any(low >= high for low, high in common):
            continue
        part = stored(chunk["file"])
        if list(part.shape) != [high - low for low, high in chunk["at"]]:
            raise ValueError(f"a chunk in '{chunk['file']}' has another shape than the table says")
        target = _within(common, bounds)
        out[target] = part[_within(common, chunk["at"])]
        there[target] = True
    if not there.all():
        raise ValueError("the chunks in the checkpoint do not make up the whole tensor")
    return out


def _within(region: list[tuple[int, int]], bounds: Any) -> tuple[slice, ...]:
    """A region as an index into what the bounds enclose."""
    return tuple(
        slice(low - start, high - start)
        for (low, high), (start, _) in zip(region, bounds, strict=True)
    )


def _dtype_named(name: str) -> Any:
    found = getattr(torch, str(name).removeprefix("torch."), None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"'{name}' is no dtype")
    return found
