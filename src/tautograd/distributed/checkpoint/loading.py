"""Reading a checkpoint. Nothing in it is executed, and a state is changed only after all of it was read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...serialization import load as load_file
from .._groups import is_initialized, member, warn_not_member
from .._objects import broadcast_object_list
from .chunks import Bounds, assembled, is_spread, own_bounds
from .folder import CheckpointException, folder_of, read_table
from .states import keys_of, name_of


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_reader: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Read a checkpoint into the tensors of a state, in place; other values are replaced."""
    folder = folder_of(checkpoint_id, storage_reader, "storage_reader")
    alone = no_dist or not is_initialized()
    if not alone and member(process_group) is None:
        warn_not_member("checkpoint.load")
        return
    found: list[Any] = [_table_or_problem(folder)]
    if not alone:  # so that all read the same one
        broadcast_object_list(found, group=process_group, group_src=0)
    if isinstance(found[0], str):
        raise CheckpointException(found[0])
    changes: list[Any] = []
    _plan(state_dict, (), _Shares(folder, found[0]), changes)
    for change in changes:
        change()


def _table_or_problem(folder: Path) -> dict[str, Any] | str:
    try:
        return read_table(folder)
    except CheckpointException as error:
        return str(error)


def everything(folder: Path) -> dict[str, Any]:
    """A whole checkpoint as the nested dictionaries that were saved, with whole tensors."""
    table = read_table(folder)
    shares = _Shares(folder, table)
    found: dict[str, Any] = {}
    for key in table:
        *path, last = keys_of(key)
        inner = found
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = shares.value(key)
    return found


class _Shares:
    """The values of a checkpoint; each file is opened on first use."""

    def __init__(self, folder: Path, table: dict[str, Any]) -> None:
        self._folder, self._table = folder, table
        self._opened: dict[str, Any] = {}

    def value(self, key: str, bounds: Bounds | None = None) -> Any:
        """A value; with `bounds`, the part of a tensor that they enclose."""
        if key not in self._table:
            raise CheckpointException(f"Missing key in checkpoint state_dict: {key}.")
        entry = self._table[key]
        if "chunks" in entry:
            try:
                return assembled(entry, bounds, lambda name: self._stored(name, key))
            except (ValueError, MemoryError) as error:
                raise CheckpointException(f"'{key}' in '{self._folder}': {error}") from None
        value = self._stored(entry["file"], key)
        if bounds is None or not hasattr(value, "_data"):
            return value
        return value[tuple(slice(low, high) for low, high in bounds)]

    def shape(self, key: str) -> tuple[int, ...] | None:
        """The shape of a whole tensor according to the table; None if it has none."""
        described = self._table.get(key, {}).get("is")
        known = isinstance(described, list) and len(described) == 2
        return tuple(described[1]) if known else None

    def _stored(self, name: str, key: str) -> Any:
        if name not in self._opened:
            try:
                self._opened[name] = load_file(self._folder / name, weights_only=True)
            except OSError as error:
                raise CheckpointException(
                    f"'{self._folder / name}' cannot be read: {error.strerror or error}"
                ) from error
        held = self._opened[name]
        if not isinstance(held, dict) or key not in held:
            raise CheckpointException(f"'{self._folder / name}' does not hold '{key}'")
        return held[key]


def _plan(
    state: dict[Any, Any], prefix: tuple[str, ...], shares: _Shares, changes: list[Any]
) -> None:
    """Read what a state asks for; `changes` are calls that install it."""
    for key, present in state.items():
        path = (*prefix, name_of(key))
        if isinstance(present, dict):
            _plan(present, path, shares, changes)
        elif hasattr(present, "_data"):
            changes.append(_copying(present, shares, "/".join(path)))
        elif hasattr(present, "load_state_dict"):
            inner = present.state_dict()
            _plan(inner, path, shares, changes)
            changes.append(lambda present=present, inner=inner: present.load_state_dict(inner))
        else:
            stored = shares.value("/".join(path))
            changes.append(lambda key=key, stored=stored: state.__setitem__(key, stored))


def _copying(present: Any, shares: _Shares, name: str) -> Any:
    target = present.detach()
    if is_spread(target):
        whole, bounds = shares.shape(name), own_bounds(target)
    else:
        whole, bounds = None, None
    if whole is not None and whole != tuple(present.shape):
        raise CheckpointException(_other_shape(name, whole, present))
    stored = shares.value(name, bounds)
    if not hasattr(stored, "_data"):
        raise CheckpointException(
            f"'{name}' is a tensor here and a {type(stored).__name__} in the checkpoint"
        )
    if bounds is not None:
        target = target.to_local()
    if tuple(stored.shape) != tuple(target.shape):
        raise CheckpointException(_other_shape(name, tuple(stored.shape), target))
    return lambda: target.copy_(stored)


def _other_shape(name: str, stored: tuple[int, ...], present: Any) -> str:
    return f"'{name}' has shape {list(stored)} in the checkpoint and {list(present.shape)} here"
