"""Collectives of Python objects, which travel as pickles: only for processes that trust each other."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from .._tensor.tensor import make
from ._exchanges import all_gather, broadcast, gather, scatter
from ._groups import member, root_in, warn_not_member
from ._point_to_point import recv, send
from ._process_group import ProcessGroup


def _packed(value: Any) -> Any:
    return np.frombuffer(pickle.dumps(value), np.uint8).copy()


def _unpacked(data: Any) -> Any:
    return pickle.loads(data.tobytes())


def _lengths(length: int, group: Any, size: int) -> list[int]:
    rows = [make(np.zeros(1, np.int64)) for _ in range(size)]
    all_gather(rows, make(np.array([length], np.int64)), group)
    return [int(row._data[0]) for row in rows]


def _padded(data: Any, length: int) -> Any:
    out = np.zeros(length, np.uint8)
    out[: data.size] = data
    return make(out)


def _inside(group: Any, name: str) -> ProcessGroup | None:
    found = member(group)
    if found is None:
        warn_not_member(name)
    return found


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Collect all ranks' objects on every rank."""
    if (found := _inside(group, "all_gather_object")) is None:
        return
    _check_room("object_list", object_list, found.size())
    data = _packed(obj)
    lengths = _lengths(data.size, group, found.size())
    rows = [make(np.zeros(max(lengths), np.uint8)) for _ in lengths]
    all_gather(rows, _padded(data, max(lengths)), group)
    for i, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        object_list[i] = _unpacked(row._data[:length])


def _check_room(name: str, given: Any, size: int) -> None:
    if not isinstance(given, list) or len(given) < size:
        raise ValueError(f"`{name}` must be a list with a place for each of {size} ranks")


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Collect all ranks' objects on one rank."""
    if (found := _inside(group, "gather_object")) is None:
        return
    if dst is None and group_dst is None:
        dst = found.ranks[0]
    root = root_in(found, "gather_object", dst, group_dst)
    here = found.rank() == root
    if here and not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if not here and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    if here:
        _check_room("object_gather_list", object_gather_list, found.size())
    data = _packed(obj)
    lengths = _lengths(data.size, group, found.size())
    rows = [make(np.zeros(max(lengths), np.uint8)) for _ in lengths] if here else None
    gather(_padded(data, max(lengths)), rows, group=group, group_dst=root)
    if rows is not None and object_gather_list is not None:
        for i, (row, length) in enumerate(zip(rows, lengths, strict=True)):
            object_gather_list[i] = _unpacked(row._data[:length])


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Copy one rank's objects to every rank, into the slots of its own list."""
    if (found := _inside(group, "broadcast_object_list")) is None:
        return
    if src is None and group_src is None:
        src = found.ranks[0]
    root = root_in(found, "ProcessGroupGloo::broadcast", src, group_src)
    here = found.rank() == root
    packed = [_packed(value) for value in object_list] if here else []
    lengths = make(np.array([data.size for data in packed] or [0] * len(object_list), np.int64))
    broadcast(lengths, group=group, group_src=root)
    whole = np.concatenate(packed) if packed else np.zeros(int(lengths._data.sum()), np.uint8)
    carried = make(whole)
    broadcast(carried, group=group, group_src=root)
    at = 0
    for i, length in enumerate(lengths._data.tolist()):
        if not here:
            object_list[i] = _unpacked(carried._data[at : at + length])
        at += length


def scatter_object_list(
    scatter_object_output_list: Any,
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Send each rank its object from one rank's list, into the first slot of its own list."""
    if (found := _inside(group, "scatter_object_list")) is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    if src is None and group_src is None:
        src = found.ranks[0]
    root = root_in(found, "ProcessGroupGloo::scatter", src, group_src)
    here = found.rank() == root
    if here and scatter_object_input_list is None:
        raise ValueError("source rank must provide non-None scatter_object_input_list")
    packed = [_packed(value) for value in scatter_object_input_list or ()] if here else []
    if here and len(packed) != found.size():
        raise ValueError(
            f"scatter_object_input_list has {len(packed)} objects for {found.size()} ranks"
        )
    lengths = make(np.array([data.size for data in packed] or [0] * found.size(), np.int64))
    broadcast(lengths, group=group, group_src=root)
    longest = int(lengths._data.max())
    mine = make(np.zeros(longest, np.uint8))
    rows = [_padded(data, longest) for data in packed] if here else None
    scatter(mine, rows, group=group, group_src=root)
    scatter_object_output_list[0] = _unpacked(mine._data[: int(lengths._data[found.rank()])])


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send objects to a rank."""
    packed = [_packed(value) for value in object_list]
    lengths = make(np.array([data.size for data in packed], np.int64))
    send(lengths, dst, group, group_dst=group_dst)
    send(make(np.concatenate(packed)), dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive objects from a rank, or from whichever sends first; returns the sender."""
    lengths = make(np.zeros(len(object_list), np.int64))
    who = recv(lengths, src, group, group_src=group_src)
    data = make(np.zeros(int(lengths._data.sum()), np.uint8))
    recv(data, who, group)
    at = 0
    for i, length in enumerate(lengths._data.tolist()):
        object_list[i] = _unpacked(data._data[at : at + length])
        at += length
    return who


__all__ = [
    "all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list",
    "scatter_object_list", "send_object_list",
]  # fmt: skip
