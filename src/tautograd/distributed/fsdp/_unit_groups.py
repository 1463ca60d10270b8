"""The ranks over which a `FullyShardedDataParallel` unit is sharded, and those over which it is replicated."""

from __future__ import annotations

import os
from typing import Any

from .._groups import _get_default_group, new_group
from .api import ShardingStrategy


def groups_of(
    process_group: Any, strategy: ShardingStrategy, policy: Any, mesh: Any
) -> tuple[Any, Any]:
    """The group that shards, and the one that replicates."""
    if process_group is not None and mesh is not None:
        raise ValueError(
            "Cannot pass both process_group and device_mesh at the same time. Please just pass only one of them."
        )
    if not strategy.copies:
        if mesh is not None:
            if mesh.ndim != 1:
                raise ValueError(
                    f"{strategy} shards along one dimension, but device_mesh is {mesh}"
                )
            return mesh.get_group(0), None
        return process_group or _get_default_group(), None
    if mesh is not None:
        if mesh.ndim != 2:
            raise ValueError(f"Expected device_mesh to have ndim=2 but got {mesh.ndim}")
        return mesh.get_group(1), mesh.get_group(0)
    if process_group is None and policy is None:
        raise ValueError(
            f"Manual wrapping with {strategy} requires explicit specification of process group or device_mesh."
        )
    if process_group is None:
        return by_machine()
    if not (isinstance(process_group, tuple) and len(process_group) == 2):
        raise ValueError(
            f"Expected process_group to be passed in as either None or Tuple[dist.ProcessGroup, dist.ProcessGroup] "
            f"but got {type(process_group)}"
        )
    return process_group


def by_machine() -> tuple[Any, Any]:
    """Shards among the ranks of a machine, replicas between machines."""
    whole = _get_default_group()
    each = int(os.environ.get("LOCAL_WORLD_SIZE", whole.size()))
    if whole.size() % each:
        raise ValueError(f"{whole.size()} ranks are not so many machines of {each} ranks")
    inside = between = None
    for first in range(0, whole.size(), each):
        ranks = list(range(first, first + each))
        made = new_group(ranks)
        inside = made if whole.rank() in ranks else inside
    for first in range(each):
        ranks = list(range(first, whole.size(), each))
        made = new_group(ranks)
        between = made if whole.rank() in ranks else between
    return inside, between
