"""`all_to_all`: every rank sends a part of its own size to every other.

A call's own arguments do not show whether it matches the others' calls, since every rank's sizes differ. So beside the
exchange itself, each rank tells each other how much it sends and how much it expects, and both get an error if the two
differ. MPI would silently deliver what there is, or as much as there is room for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._buffers import (
    Buffer,
    check_tensor,
    check_tensors,
    copying_into,
    group_of,
    joined,
    room_for,
    same_dtype,
    transport_of,
)
from ._compiled import between_stretches
from ._process_group import ProcessGroup
from ._work import Work


class _Agreed:
    """An exchange of such parts, together with the sizes that each rank declares."""

    def __init__(
        self,
        group: ProcessGroup,
        tensor: Any,
        out: Any,
        taken: Sequence[int],
        given: Any,
        sent: Sequence[int],
    ) -> None:
        self._ranks, self._taken, self._sent = group.ranks, taken, sent
        pairs = [2] * group.size()
        said = np.array([sent, taken], np.int64).T.ravel()
        self._told = np.zeros_like(said)
        self._telling: Any = group.transport_for("cpu").all_to_all(self._told, pairs, said, pairs)
        self._moving = transport_of(group, tensor).all_to_all(out, taken, given, sent)

    def test(self) -> bool:
        """Make progress on both; whether they are done."""
        if self._telling is not None:
            if not self._telling.test():
                return False
            self._telling = None
            self._compare()
        return bool(self._moving.test())

    def _compare(self) -> None:
        rows = zip(self._ranks, self._told.reshape(-1, 2), self._sent, self._taken, strict=True)
        for rank, (sends, expects), sent, taken in rows:
            if sends != taken:
                raise RuntimeError(
                    f"rank {rank} sends {sends} elements to this one, which expects {taken}"
                )
            if expects != sent:
                raise RuntimeError(
                    f"rank {rank} expects {expects} elements of this one, which sends {sent}"
                )

    def received(self) -> None:
        """None: there is no single sender."""


@between_stretches(writes="output")
def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send each rank its rows of this rank's tensor, and receive the rows that it has for this one."""
    check_tensor(output, "output")
    check_tensor(input, "input")
    same_dtype(output, input)
    if (found := group_of(group, "all_to_all_single")) is None:
        return None
    sent = _row_counts("input", input, input_split_sizes, found.size())
    taken = _row_counts("output", output, output_split_sizes, found.size())
    if not input_split_sizes and not output_split_sizes and input.numel() != output.numel():
        raise RuntimeError(
            f"ProcessGroupGloo::all_to_all_single: input has {input.numel()} elements and output "
            f"{output.numel()}: without split sizes they have to be as large as each other"
        )
    given, out = Buffer(input, found), Buffer(output, found)
    return found.start(
        f"all_to_all_single({input.dtype})",
        lambda: _Agreed(found, input, out.array, taken, given.array, sent),
        result=[output], finish=lambda work: out.put_back(), async_op=async_op,
    )  # fmt: skip


def _row_counts(name: str, tensor: Any, sizes: Sequence[int] | None, size: int) -> list[int]:
    rows = tensor.shape[0] if tensor.dim() else 1
    each = tensor.numel() // rows if rows else 0
    if not sizes:
        if rows % size:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        return [rows // size * each] * size
    if len(sizes) != size:
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(sizes) != rows:
        raise RuntimeError(
            f"Split sizes doesn't match total dim 0 size ({name}: {sum(sizes)} and {rows})"
        )
    return [int(n) * each for n in sizes]


@between_stretches(writes="output_tensor_list")
def all_to_all(
    output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Send each rank its tensor of this rank's list, and receive the tensor that it has for this one."""
    check_tensors(output_tensor_list, "output_tensor_list")
    check_tensors(input_tensor_list, "input_tensor_list")
    same_dtype(*output_tensor_list, *input_tensor_list)
    if (found := group_of(group, "all_to_all")) is None:
        return None
    for name, tensors in (("input", input_tensor_list), ("output", output_tensor_list)):
        if len(tensors) != found.size():
            raise RuntimeError(
                f"ProcessGroupGloo::alltoall: {name} tensor list size {len(tensors)} does not match world "
                f"size {found.size()}"
            )
    sent = [tensor.numel() for tensor in input_tensor_list]
    taken = [tensor.numel() for tensor in output_tensor_list]
    given = joined([Buffer(one, found).array for one in input_tensor_list])
    room = room_for(given, sum(taken))

    def finish(work: Work) -> None:
        at = 0
        for into, count in zip(output_tensor_list, taken, strict=True):
            Buffer(into, found).put_back(room[at : at + count])
            at += count

    return found.start(
        f"all_to_all({input_tensor_list[0].dtype})",
        lambda: _Agreed(found, input_tensor_list[0], room, taken, given, sent),
        result=list(output_tensor_list), finish=copying_into(output_tensor_list, finish), async_op=async_op,
    )  # fmt: skip
