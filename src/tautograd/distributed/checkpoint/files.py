"""A checkpoint as a folder: a file of each rank's share, and last of all the table of what is where.

The folder is written under another name and renamed when it is whole, so that a process that dies meanwhile leaves
the checkpoint that was there before. Nothing in it is run when it is read.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from ...serialization import load as load_file
from ...serialization import save as save_file
from .._exchanges import barrier
from .._groups import get_rank, get_world_size, is_initialized
from .._objects import all_gather_object, broadcast_object_list

_TABLE = ".metadata"
_UNFINISHED = ".unfinished"
_BEFORE = ".before"


class CheckpointException(RuntimeError):
    """A checkpoint could not be written or read."""


class FileSystemWriter:
    """Where a checkpoint is written."""

    def __init__(self, path: str | os.PathLike[str], **_: Any) -> None:
        self.path = Path(path)


class FileSystemReader:
    """Where a checkpoint is read."""

    def __init__(self, path: str | os.PathLike[str], **_: Any) -> None:
        self.path = Path(path)


def _folder(checkpoint_id: Any, storage: Any, name: str) -> Path:
    if storage is not None and checkpoint_id is None:
        return Path(storage.path)
    if checkpoint_id is None:
        raise RuntimeError(f"Either `checkpoint_id` or `{name}` must be given")
    return Path(checkpoint_id)


def flattened(state: Any, prefix: tuple[str, ...] = ()) -> dict[str, Any]:
    """A nest of dicts as one, whose keys are paths; `/` in a name is written as `//`."""
    if not isinstance(state, dict):
        if hasattr(state, "state_dict") and not hasattr(state, "_data"):
            return flattened(state.state_dict(), prefix)
        return {"/".join(prefix): state}
    found: dict[str, Any] = {}
    for key, value in state.items():
        found.update(flattened(value, (*prefix, _name_of(key))))
    return found


def _name_of(key: Any) -> str:
    if isinstance(key, int) and not isinstance(key, bool):
        return f"#{key}"
    if not isinstance(key, str):
        raise CheckpointException(f"keys of a state are text or whole numbers, not {key!r}")
    return key.replace("/", "//")


def _size(value: Any) -> int:
    return int(value._data.nbytes) if hasattr(value, "_data") else 64


def _described(value: Any) -> list[Any]:
    if hasattr(value, "_data"):
        return [str(value.dtype), list(value.shape)]
    return ["object"]


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
    """Write a state; every rank calls this. It is there when the call returns, on every rank."""
    alone = no_dist or not is_initialized()
    group, rank = process_group, 0 if alone else get_rank(process_group)
    folder = _folder(checkpoint_id, storage_writer, "storage_writer")
    values = flattened(state_dict)
    told = _gathered({k: (_size(v), _described(v)) for k, v in values.items()}, group, alone)
    owners = _shared_out(told)
    draft = folder.with_name(folder.name + _UNFINISHED)
    problem: str | None = None
    try:
        if rank == 0:
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(parents=True)
    except OSError as error:
        problem = f"cannot make '{draft}': {error.strerror}"
    _agree(problem, group, alone)
    try:
        mine = {key: values[key] for key, owner in owners.items() if owner == rank}
        path = draft / f"__{rank}_0.distcp"
        save_file(mine, path)
        _to_disk(path)
    except OSError as error:
        problem = f"rank {rank} cannot write '{draft}': {error.strerror}"
    _agree(problem, group, alone)
    if rank == 0:
        table = {
            key: {"file": f"__{owner}_0.distcp", "is": told[owner][key][1]}
            for key, owner in owners.items()
        }
        path = draft / _TABLE
        path.write_text(json.dumps({"version": 1, "ranks": len(told), "values": table}))
        _to_disk(path)
        _put_in_place(draft, folder)
    if not alone:
        barrier(group)


def _agree(problem: str | None, group: Any, alone: bool) -> None:
    """One rank's problem is everybody's error: nobody goes on with half of a checkpoint."""
    problems = [said for said in _gathered(problem, group, alone) if said]
    if problems:
        raise CheckpointException("; ".join(problems))


def _shared_out(told: list[dict[str, Any]]) -> dict[str, int]:
    """Which rank writes which value: of those who have it, the one with the least so far."""
    loads, owners = [0] * len(told), dict[str, int]()
    keys = list(dict.fromkeys(key for part in told for key in part))
    for key in sorted(keys, key=lambda k: -max(part[k][0] for part in told if k in part)):
        owner = min((rank for rank, part in enumerate(told) if key in part), key=lambda r: loads[r])
        owners[key] = owner
        loads[owner] += told[owner][key][0]
    return owners


def _to_disk(path: Path) -> None:
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def _put_in_place(draft: Path, folder: Path) -> None:
    """The new one in the old one's place; at every moment one of the two is whole and found."""
    before = folder.with_name(folder.name + _BEFORE)
    shutil.rmtree(before, ignore_errors=True)
    if folder.exists():
        os.rename(folder, before)
    os.rename(draft, folder)
    shutil.rmtree(before, ignore_errors=True)


def _whole(folder: Path) -> Path | None:
    """The folder, or the one that it was about to replace; None if neither is whole."""
    for candidate in (folder, folder.with_name(folder.name + _BEFORE)):
        if (candidate / _TABLE).is_file():
            return candidate
    return None


def latest(folder: str | os.PathLike[str]) -> Path | None:
    """The checkpoint in a folder of checkpoints that was finished last; None if there is none."""
    found = {
        _whole(path.with_name(path.name.removesuffix(_BEFORE))) for path in Path(folder).glob("*")
    }
    whole = [path for path in found if path is not None]
    return max(whole, key=lambda path: (path / _TABLE).stat().st_mtime_ns, default=None)


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_reader: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Read a checkpoint into the tensors of a state; other values are put in the place of the old ones."""
    folder = _folder(checkpoint_id, storage_reader, "storage_reader")
    alone = no_dist or not is_initialized()
    found = [_whole(folder)]
    if not alone:  # so that all read the same one
        broadcast_object_list(found, group=process_group, group_src=0)
    if found[0] is None:
        raise CheckpointException(f"'{folder}' holds no whole checkpoint")
    table = _table(found[0])
    opened: dict[str, Any] = {}

    def value_of(key: str) -> Any:
        if key not in table:
            raise CheckpointException(f"Missing key in checkpoint state_dict: {key}.")
        name = table[key]["file"]
        if name not in opened:
            opened[name] = load_file(found[0] / name, weights_only=True)
        return opened[name][key]

    _fill(state_dict, (), value_of)


def _table(folder: Path) -> dict[str, Any]:
    try:
        content = json.loads((folder / _TABLE).read_text())
        values: dict[str, Any] = content["values"]
        if any(os.path.basename(entry["file"]) != entry["file"] for entry in values.values()):
            raise ValueError("a file outside of the folder")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointException(f"'{folder / _TABLE}' cannot be read: {error}") from None
    return values


def _fill(state: dict[Any, Any], prefix: tuple[str, ...], value_of: Any) -> None:
    for key, present in state.items():
        path = (*prefix, _name_of(key))
        if isinstance(present, dict):
            _fill(present, path, value_of)
        elif hasattr(present, "_data"):
            stored = value_of("/".join(path))
            if tuple(stored.shape) != tuple(present.shape):
                raise CheckpointException(
                    f"'{'/'.join(path)}' has shape {list(stored.shape)} in the checkpoint and "
                    f"{list(present.shape)} here"
                )
            present.detach().copy_(stored)
        elif hasattr(present, "load_state_dict"):
            inner = present.state_dict()
            _fill(inner, path, value_of)
            present.load_state_dict(inner)
        else:
            state[key] = value_of("/".join(path))
