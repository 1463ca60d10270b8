"""From one placement to another: which collective each step takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor.tensor import make
from .._exchanges import all_gather_into_tensor
from .._reduce_op import ReduceOp
from .._reductions import all_reduce, reduce_scatter_tensor
from ._array import DistributedArray, local_bounds
from .placement_types import REPLICATE, Partial, Placement, Shard, chunk_bounds

_REDUCE = {
    "sum": ReduceOp.SUM, "avg": ReduceOp.AVG, "product": ReduceOp.PRODUCT,
    "max": ReduceOp.MAX, "min": ReduceOp.MIN,
}  # fmt: skip


def redistributed(x: DistributedArray, placements: tuple[Placement, ...]) -> DistributedArray:
    """The same array with other placements; may share memory. Every rank of the mesh takes part."""
    if placements == x.placements:
        return x
    now = list(x.placements)
    local = x.local
    # If one dimension is cut twice, by two dimensions of the mesh, it is put together from the last one on.
    cut = [p.dim for p in (*now, *placements) if isinstance(p, Shard)]
    nested = any(
        len({p.dim for p in lay if isinstance(p, Shard)}) < sum(p.is_shard() for p in lay)
        for lay in (now, placements)
    ) or len(cut) != len(set(cut))
    for i in reversed(range(len(now))):
        target = placements[i]
        if now[i] == target and not (nested and isinstance(target, Shard)):
            continue
        source = now[i]
        if isinstance(source, Partial):
            local, now[i] = _reduced(x, local, now, i, target)
        elif isinstance(source, Shard):
            local, now[i] = _gathered(x, local, now, i), REPLICATE
    for i, target in enumerate(placements):
        if now[i] == target:
            continue
        if isinstance(target, Shard):
            place = x.mesh.get_coordinate()[i]
            low, high = chunk_bounds(local.shape[target.dim], x.mesh.size(i), place)
            local = local[(slice(None),) * target.dim + (slice(low, high),)]
        elif isinstance(target, Partial) and target.reduce_op == "sum":
            local = local / local.dtype.type(x.mesh.size(i))
        elif isinstance(target, Partial) and target.reduce_op == "product":
            raise RuntimeError(f"cannot redistribute from {now[i]} to {target}")
        now[i] = target
    return DistributedArray(local, x.mesh, tuple(placements), x.shape)


def _reduced(
    x: DistributedArray, local: Any, now: list[Placement], i: int, target: Placement
) -> tuple[Any, Placement]:
    """Reduce over the ranks along dimension `i` of the mesh: the whole result, or this rank's chunk."""
    source = now[i]
    assert isinstance(source, Partial)
    group, count = x.mesh.get_group(i), x.mesh.size(i)
    op = _REDUCE[source.reduce_op]
    by_chunks = (
        isinstance(target, Shard)
        and local.shape[target.dim] % count == 0
        and not any(p.is_shard(target.dim) for p in now)
    )
    if by_chunks:
        assert isinstance(target, Shard)
        given = np.ascontiguousarray(np.moveaxis(local, target.dim, 0))
        out = np.empty((given.shape[0] // count, *given.shape[1:]), given.dtype)
        reduce_scatter_tensor(make(out), make(given), op, group)
        return np.moveaxis(out, 0, target.dim), target
    out = np.array(local, order="C", copy=True)
    all_reduce(make(out), op, group)
    return out, REPLICATE


def _gathered(x: DistributedArray, local: Any, now: list[Placement], i: int) -> Any:
    """Gather the chunks of the ranks along dimension `i` of the mesh."""
    placement = now[i]
    assert isinstance(placement, Shard)
    group, count, dim = x.mesh.get_group(i), x.mesh.size(i), placement.dim
    outer = tuple(p if k < i else REPLICATE for k, p in enumerate(now))
    low, high = local_bounds(x.shape, x.mesh, outer)[dim]
    length = high - low
    each = -(-length // count)
    given = np.moveaxis(local, dim, 0)
    if given.shape[0] < each:  # all chunks sent have the same length
        room = np.zeros((each, *given.shape[1:]), given.dtype)
        room[: given.shape[0]] = given
        given = room
    given = np.ascontiguousarray(given)
    out = np.empty((each * count, *given.shape[1:]), given.dtype)
    all_gather_into_tensor(make(out), make(given), group)
    return np.moveaxis(out[:length], 0, dim)


def replicated(x: DistributedArray) -> DistributedArray:
    """The array, replicated on every rank."""
    return redistributed(x, (REPLICATE,) * len(x.placements))


def whole(x: DistributedArray) -> Any:
    """All elements, as a plain array."""
    return replicated(x).local
