"""Writing a checkpoint: each rank writes its share, and one of them the table."""

from __future__ import annotations

import contextlib
from concurrent.futures import Future
from typing import Any

from ...serialization import save as save_file
from .._groups import get_rank, get_world_size, is_initialized, member, warn_not_member
from .._objects import all_gather_object
from .chunks import Bounds, is_spread, own_bounds, own_chunk
from .folder import CheckpointException, folder_of, next_save, share_name, write_table
from .states import flattened


def _size(value: Any) -> int:
    return int(value._data.nbytes) if hasattr(value, "_data") else 64


def _told(value: Any) -> tuple[int, list[Any], Bounds | None]:
    """What the others need to know of a value: its size, what it is, and which chunk of it is on this rank."""
    if not hasattr(value, "_data"):
        return _size(value), ["object"], None
    described = [str(value.dtype), list(value.shape)]
    return _size(value), described, own_bounds(value) if is_spread(value) else None


def _gathered(value: Any, group: Any, alone: bool) -> list[Any]:
    if alone:
        return [value]
    found: list[Any] = [None] * get_world_size(group)
    all_gather_object(found, value, group)
    return found


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> None:
    """Write a state; every rank calls this. When the call returns, it is complete on every rank."""
    alone = no_dist or not is_initialized()
    if not alone and member(process_group) is None:
        warn_not_member("checkpoint.save")
        return
    group, rank = process_group, 0 if alone else get_rank(process_group)
    folder = folder_of(checkpoint_id, storage_writer, "storage_writer")
    values = flattened(state_dict)
    told = _gathered({k: _told(v) for k, v in values.items()}, group, alone)
    owners = _shared_out(told)
    problem: str | None = None
    number = 0
    try:
        if rank == 0:
            folder.mkdir(parents=True, exist_ok=True)
            number = next_save(folder)
    except OSError as error:
        problem = f"cannot make '{folder}': {error.strerror}"
    _agree(problem, group, alone)
    number = _gathered(number, group, alone)[0]
    share = folder / share_name(rank, number)
    try:
        mine = {key: values[key] for key, owned in owners.items() if rank in owned}
        save_file({k: own_chunk(v) if is_spread(v) else v for k, v in mine.items()}, share)
    except OSError as error:
        problem = f"rank {rank} cannot write '{share}': {error.strerror}"
    except Exception as error:  # something in the state cannot be written
        if alone:
            raise
        problem = f"rank {rank}: {error}"
    try:
        _agree(problem, group, alone)
        if rank == 0:
            problem = _finish(folder, told, owners, number)
        _agree(problem, group, alone)
    except CheckpointException:
        with contextlib.suppress(OSError):
            share.unlink(missing_ok=True)
        raise


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    **options: Any,
) -> Future[None]:
    """The same as `save`; returns a future that is already done.

    Ranks agree on a checkpoint by collectives. Those of a background thread would interleave with the next step's, so
    nothing is deferred.
    """
    future: Future[None] = Future()
    try:
        save(
            state_dict, checkpoint_id=checkpoint_id, storage_writer=storage_writer, planner=planner,
            process_group=process_group,
        )  # fmt: skip
    except CheckpointException as error:
        future.set_exception(error)
    else:
        future.set_result(None)
    return future


def _finish(folder: Any, told: list[Any], owners: dict[str, list[int]], number: int) -> str | None:
    def entry(key: str, owned: list[int]) -> dict[str, Any]:
        _, described, bounds = told[owned[0]][key]
        if bounds is None:
            return {"file": share_name(owned[0], number), "is": described}
        chunks = [{"file": share_name(rank, number), "at": told[rank][key][2]} for rank in owned]
        return {"chunks": chunks, "is": described}

    table = {key: entry(key, owned) for key, owned in owners.items()}
    try:
        write_table(folder, table, len(told))
    except OSError as error:
        return f"cannot write the table of '{folder}': {error.strerror}"
    return None


def _agree(problem: str | None, group: Any, alone: bool) -> None:
    """Make one rank's problem everybody's error, so that nobody continues with half a checkpoint."""
    problems = [said for said in _gathered(problem, group, alone) if said]
    if problems:
        raise CheckpointException("; ".join(problems))


def _shared_out(told: list[dict[str, Any]]) -> dict[str, list[int]]:
    """Which ranks write which value: of the ranks that have it (or a chunk), the one with the least so far."""
    loads, owners = [0] * len(told), dict[str, list[int]]()
    keys = list(dict.fromkeys(key for part in told for key in part))
    for key in sorted(keys, key=lambda k: -max(part[k][0] for part in told if k in part)):
        holders: dict[Any, list[int]] = {}
        for rank, part in enumerate(told):
            if key in part:
                holders.setdefault(part[key][2], []).append(rank)
        owners[key] = []
        for ranks in holders.values():
            owner = min(ranks, key=lambda rank: loads[rank])
            owners[key].append(owner)
            loads[owner] += told[owner][key][0]
    return owners
