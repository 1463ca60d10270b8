"""A checkpoint as a folder: a file of each rank's share, and the table of what is where.

A save writes files under names that the table does not have yet, then replaces the table at once, and takes the
files away that only the old table named. So the folder holds a whole checkpoint, the old one or the new one, at every
moment, and other files in it are left alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path
from typing import Any

from ..._files.atomic import replacing
from ..._files.json_text import parsed
from ..._files.regular import read_regular
from ..._files.temporaries import clear_dead
from .chunks import checked_chunks

TABLE = ".metadata"
_SHARE = re.compile(r"__\d{1,9}_(\d{1,18})\.distcp", re.ASCII)
_UNFINISHED = re.compile(r"\.(__\d+_\d+\.distcp)\..*\.part", re.ASCII)
_LARGEST = 256 << 20  # bytes of a table


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


def folder_of(checkpoint_id: Any, storage: Any, name: str) -> Path:
    if storage is not None and checkpoint_id is None:
        return Path(storage.path)
    if checkpoint_id is None:
        raise RuntimeError(f"Either `checkpoint_id` or `{name}` must be given")
    return Path(checkpoint_id)


def share_name(rank: int, save: int) -> str:
    """The file of a rank's share, in the folder's so-many-th save."""
    return f"__{rank}_{save}.distcp"


def is_whole(folder: Path) -> bool:
    """Whether a folder holds a checkpoint. Files without a table are what a killed save has left."""
    return (folder / TABLE).is_file()


def files_of(entry: dict[str, Any]) -> list[str]:
    """The files that hold a value: one, or one for each of its chunks."""
    return [part["file"] for part in entry.get("chunks", [entry])]


def read_table(folder: Path) -> dict[str, dict[str, Any]]:
    """Which files of the folder hold which value, and what it is."""
    if not is_whole(folder):
        raise CheckpointException(f"'{folder}' holds no whole checkpoint")
    try:
        table: dict[str, dict[str, Any]]
        table = parsed(read_regular(folder / TABLE, _LARGEST))["values"]
        for entry in table.values():
            if "chunks" in entry:
                checked_chunks(entry)
            for name in files_of(entry):
                if not _SHARE.fullmatch(name):
                    raise ValueError(f"no file of a checkpoint is called {name!r}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointException(
            f"'{folder / TABLE}' cannot be read: {type(error).__name__}: {error}"
        ) from None
    return table


def write_table(folder: Path, values: dict[str, Any], ranks: int) -> None:
    """Make what was written the folder's checkpoint, and clear what is none any more."""
    text = json.dumps({"version": 1, "ranks": ranks, "values": values})
    with replacing(folder / TABLE) as file:
        file.write(text.encode())
    _clear(folder, {name for entry in values.values() for name in files_of(entry)})


def _clear(folder: Path, named: set[str]) -> None:
    """Take shares away that no table names, and what killed writers had begun; no error if that fails."""
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = os.listdir(folder)
    for name in names:
        with contextlib.suppress(OSError):
            if _SHARE.fullmatch(name) and name not in named:
                os.unlink(folder / name)
            elif unfinished := _UNFINISHED.fullmatch(name):
                clear_dead(str(folder / unfinished[1]), os.stat(folder / TABLE).st_mtime)


def next_save(folder: Path) -> int:
    """The number of a folder's next save: none of the files it will write is in use."""
    if not is_whole(folder):
        return 0
    try:
        names: Any = [name for entry in read_table(folder).values() for name in files_of(entry)]
    except CheckpointException:  # of another program's, perhaps
        names = os.listdir(folder)
    found = [_SHARE.fullmatch(name) for name in names]
    return max((int(match[1]) for match in found if match), default=-1) + 1


def latest(folder: str | os.PathLike[str]) -> Path | None:
    """The checkpoint in a folder of checkpoints that was finished last; None if there is none."""
    whole = [path for path in Path(folder).glob("*") if is_whole(path)]
    return max(whole, key=lambda path: (path / TABLE).stat().st_mtime_ns, default=None)
