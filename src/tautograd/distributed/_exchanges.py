"""Collectives that move tensors without reducing them: `broadcast`, `all_gather`, `scatter`, `barrier`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from ..futures import Future
from ._buffers import (
    Buffer,
    check_alike,
    check_same_type,
    check_tensor,
    check_tensors,
    check_whole,
    copying_into,
    described,
    group_of,
    joined,
    parts_of,
    room_for,
    same_dtype,
    shares,
    transport_of,
)
from ._compiled import between_stretches
from ._groups import root_in
from ._work import Work


@between_stretches(writes="tensor")
def broadcast(
    tensor: Any,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copy one rank's tensor to every rank."""
    check_tensor(tensor, "tensor")
    if (found := group_of(group, "broadcast")) is None:
        return None
    root = root_in(found, "ProcessGroupGloo::broadcast", src, group_src)
    buffer = Buffer(tensor, found)
    return found.start(
        f"broadcast({described(tensor)}, src={found.ranks[root]})",
        lambda: transport_of(found, tensor).broadcast(buffer.array, root),
        result=[tensor],
        finish=None if found.rank() == root else lambda work: buffer.put_back(),
        async_op=async_op,
    )


@between_stretches(writes="tensor_list")
def all_gather(
    tensor_list: Any, tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Collect all ranks' tensors on every rank, in a list."""
    check_tensors(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    same_dtype(*tensor_list, tensor)
    if (found := group_of(group, "all_gather")) is None:
        return None
    check_alike("allgather", "output", tensor_list, tensor, found.size())
    given = Buffer(tensor, found)
    room = room_for(given.array, given.array.size * found.size())

    def finish(work: Work) -> None:
        for into, part in zip(tensor_list, shares(room, found.size()), strict=True):
            Buffer(into, found).put_back(part)

    return found.start(
        f"all_gather({described(tensor)})",
        lambda: transport_of(found, tensor).all_gather(room, given.array),
        result=list(tensor_list), finish=copying_into(tensor_list, finish), async_op=async_op,
    )  # fmt: skip


@between_stretches(writes="output_tensor")
def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Collect all ranks' tensors on every rank, concatenated in one tensor."""
    check_tensor(input_tensor, "input_tensor")
    check_tensor(output_tensor, "output_tensor")
    if (found := group_of(group, "all_gather_into_tensor")) is None:
        return None
    check_same_type("allgather", input_tensor, output_tensor)
    check_whole("allgather", output_tensor, input_tensor, found.size())
    given, out = Buffer(input_tensor, found), Buffer(output_tensor, found)
    return found.start(
        f"all_gather_into_tensor({described(input_tensor)})",
        lambda: transport_of(found, input_tensor).all_gather(out.array, given.array),
        result=[output_tensor], finish=copying_into([output_tensor], lambda work: out.put_back()), async_op=async_op,
    )  # fmt: skip


def all_gather_coalesced(
    output_tensor_lists: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Future | None:
    """`all_gather` of several tensors in one exchange; one list of tensors per rank."""
    check_tensors(input_tensor_list, "input_tensor_list")
    same_dtype(*input_tensor_list)
    if not isinstance(output_tensor_lists, list):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    for row in output_tensor_lists:
        check_tensors(row, "output_tensor_lists")
        same_dtype(*row)
    work = _all_gather_joined(output_tensor_lists, input_tensor_list, group, async_op)
    return None if work is None else work.get_future()


@between_stretches(writes="outputs")
def _all_gather_joined(outputs: Any, tensors: Any, group: Any, async_op: bool) -> Work | None:
    if (found := group_of(group, "all_gather_coalesced")) is None:
        return None
    name = "ProcessGroupGloo::allgather_coalesced"
    if not tensors:
        raise RuntimeError(f"{name}: requires non-empty input tensor list")
    if len(outputs) != found.size():
        raise RuntimeError(f"{name}: output lists should be equal to world size")
    for row in outputs:
        if len(row) != len(tensors):
            raise RuntimeError(
                f"{name}: invalid output size: (expected length {len(tensors)}, got {len(row)})"
            )
        for i, (into, tensor) in enumerate(zip(row, tensors, strict=True)):
            if into.shape != tensor.shape or into.dtype != tensor.dtype:
                raise RuntimeError(
                    f"{name}: invalid size of output tensor at index {i} (expected length "
                    f"{tensor.numel()}, got {into.numel()})"
                )
    results = [into for row in outputs for into in row]
    given = joined([Buffer(tensor, found).array for tensor in tensors])
    room = room_for(given, given.size * found.size())

    def finish(work: Work) -> None:
        for row, whole in zip(outputs, shares(room, found.size()), strict=True):
            for into, part in zip(row, parts_of(whole, row), strict=True):
                Buffer(into, found).put_back(part)

    return found.start(
        f"all_gather_coalesced({described(*tensors)})",
        lambda: transport_of(found, tensors[0]).all_gather(room, given),
        result=results, finish=copying_into(results, finish), async_op=async_op,
    )  # fmt: skip


@between_stretches(writes="gather_list")
def gather(
    tensor: Any,
    gather_list: Any = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Collect all ranks' tensors on one rank, in a list."""
    check_tensor(tensor, "tensor")
    gather_list = _given_list(gather_list, "gather_list")
    same_dtype(*gather_list, tensor)
    if (found := group_of(group, "gather")) is None:
        return None
    root, here = _with_list_at_root("gather", found, gather_list, dst, group_dst, "destination")
    given = Buffer(tensor, found)
    room = None
    if here:
        check_alike("gather", "output", gather_list, tensor, found.size())
        room = room_for(given.array, given.array.size * found.size())

    def finish(work: Work) -> None:
        if here:
            for into, part in zip(gather_list, shares(room, found.size()), strict=True):
                Buffer(into, found).put_back(part)

    return found.start(
        f"gather({described(tensor)}, dst={found.ranks[root]})",
        lambda: transport_of(found, tensor).gather(room, given.array, root),
        result=list(gather_list), finish=copying_into(gather_list, finish), async_op=async_op,
    )  # fmt: skip


def _given_list(tensors: Any, name: str) -> Any:
    """The list that one rank passes, or an empty one."""
    if not tensors:
        return []
    check_tensors(tensors, name)
    return tensors


def _with_list_at_root(
    name: str, group: Any, tensors: Any, rank: int | None, group_rank: int | None, kind: str
) -> tuple[int, bool]:
    """The rank within the group that has the list (rank 0 by default), and whether it is this one."""
    if rank is None and group_rank is None:
        rank = group.ranks[0]
    root = root_in(group, f"ProcessGroupGloo::{name}", rank, group_rank)
    here = group.rank() == root
    if here and not tensors:
        raise ValueError(f"Argument ``{name}_list`` must be specified on {kind} rank.")
    if not here and tensors:
        raise ValueError(f"Argument ``{name}_list`` must NOT be specified on non-{kind} ranks.")
    return root, here


@between_stretches(writes="tensor")
def scatter(
    tensor: Any,
    scatter_list: Any = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Send each rank its tensor from one rank's list."""
    check_tensor(tensor, "tensor")
    scatter_list = _given_list(scatter_list, "scatter_list")
    same_dtype(tensor, *scatter_list)
    if (found := group_of(group, "scatter")) is None:
        return None
    root, here = _with_list_at_root("scatter", found, scatter_list, src, group_src, "source")
    out = Buffer(tensor, found)
    given = None
    if here:
        check_alike("scatter", "input", scatter_list, tensor, found.size())
        given = joined([Buffer(one, found).array for one in scatter_list])
    return found.start(
        f"scatter({described(tensor)}, src={found.ranks[root]})",
        lambda: transport_of(found, tensor).scatter(out.array, given, root),
        result=[tensor], finish=lambda work: out.put_back(), async_op=async_op,
    )  # fmt: skip


@between_stretches(writes="group")
def barrier(
    group: Any = None,
    async_op: bool = False,
    device_ids: Any = None,
    timeout: timedelta | None = None,
) -> Work | None:
    """Wait until every rank has reached this call."""
    if (found := group_of(group, "barrier")) is None:
        return None
    if device_ids is not None and not isinstance(device_ids, list):
        raise TypeError("Invalid function argument: device_ids type should be List[int]")
    start = found.transport_for("cpu").barrier
    return found.start("barrier()", start, timeout=timeout, async_op=async_op)


all_gather_single = all_gather_into_tensor
