"""Collectives that reduce: `all_reduce`, `reduce`, `reduce_scatter` and their variants."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor.tensor import Tensor
from ..futures import Future
from ._buffers import (
    Buffer,
    arithmetic_on,
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
    same_dtype,
    transport_of,
)
from ._compiled import between_stretches
from ._groups import root_in
from ._process_group import ProcessGroup
from ._reduce_op import RedOpType, ReduceOp, as_reduce_op, check_reduction, factor_of
from ._work import Work


def _prepared(buffer: Buffer, op: ReduceOp) -> Any:
    """A reduction's input: PREMUL_SUM multiplies it first."""
    if op.op is RedOpType.PREMUL_SUM:
        numbers = arithmetic_on(buffer.array)
        np.multiply(numbers, factor_of(op, numbers.dtype), out=numbers)
    return buffer.array


def _averaged(array: Any, op: ReduceOp, size: int, as_pairs: bool = True) -> None:
    """Divide a sum by the number of ranks; complex numbers as PyTorch does there, to the last bit."""
    if op.op is RedOpType.AVG:
        parts = array.view(array.real.dtype) if as_pairs and array.dtype.kind == "c" else array
        numbers = arithmetic_on(parts)
        np.divide(numbers, numbers.dtype.type(size), out=numbers)


@between_stretches(writes="tensor")
def all_reduce(
    tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce a tensor over all ranks, in place on each."""
    check_tensor(tensor, "tensor")
    if (found := group_of(group, "all_reduce")) is None:
        return None
    op = as_reduce_op(op)
    check_reduction("all_reduce", op, tensor._data.dtype, ValueError)
    buffer = Buffer(tensor, found)
    array = _prepared(buffer, op)

    def finish(work: Work) -> None:
        _averaged(array, op, found.size())
        buffer.put_back()

    divided = copying_into([tensor], finish) if op.op is RedOpType.AVG else finish
    return found.start(
        f"all_reduce({op.op.name}, {described(tensor)})",
        lambda: transport_of(found, tensor).all_reduce(array, op),
        result=[tensor], finish=divided, async_op=async_op,
    )  # fmt: skip


@between_stretches(writes="tensor")
def reduce(
    tensor: Any,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Reduce a tensor over all ranks, in place on `dst`."""
    check_tensor(tensor, "tensor")
    if (found := group_of(group, "reduce")) is None:
        return None
    root = root_in(found, "ProcessGroupGloo::reduce", dst, group_dst)
    op = as_reduce_op(op)
    check_reduction("reduce", op, tensor._data.dtype)
    buffer = Buffer(tensor, found)
    here = found.rank() == root
    array = _prepared(buffer, op) if here else _prepared(_apart(buffer, op), op)

    def finish(work: Work) -> None:
        if here:
            _averaged(array, op, found.size(), as_pairs=False)
            buffer.put_back()

    return found.start(
        f"reduce({op.op.name}, {described(tensor)}, dst={found.ranks[root]})",
        lambda: transport_of(found, tensor).reduce(array, op, root),
        result=[tensor], finish=finish, async_op=async_op,
    )  # fmt: skip


def _apart(buffer: Buffer, op: ReduceOp) -> Buffer:
    """The buffer, with an array of its own if the reduction overwrites its input."""
    if op.op is RedOpType.PREMUL_SUM:
        buffer.array = buffer.array.copy()
    return buffer


def all_reduce_coalesced(
    tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Future | None:
    """`all_reduce` of several tensors in one exchange; with `async_op`, a future of them."""
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    check_tensors(tensors, "tensor")
    same_dtype(*tensors)
    work = _all_reduce_joined(tensors, op, group, async_op)
    return None if work is None else work.get_future()


@between_stretches(writes="tensors")
def _all_reduce_joined(tensors: Any, op: Any, group: Any, async_op: bool) -> Work | None:
    if (found := group_of(group, "all_reduce_coalesced")) is None:
        return None
    if not tensors:
        raise RuntimeError("ProcessGroupGloo::allreduce_coalesced: requires non-empty tensor list")
    op = as_reduce_op(op)
    check_reduction("all_reduce", op, tensors[0]._data.dtype, ValueError)
    buffers = [Buffer(tensor, found) for tensor in tensors]
    array = joined([buffer.array for buffer in buffers])
    if op.op is RedOpType.PREMUL_SUM:
        array = array * factor_of(op, array.dtype)

    def finish(work: Work) -> None:
        _averaged(array, op, found.size())
        for buffer, part in zip(buffers, parts_of(array, tensors), strict=True):
            buffer.put_back(part)

    return found.start(
        f"all_reduce_coalesced({op.op.name}, {described(*tensors)})",
        lambda: transport_of(found, tensors[0]).all_reduce(array, op),
        result=list(tensors), finish=copying_into(tensors, finish), async_op=async_op,
    )  # fmt: skip


def _reduced_share(
    name: str, output: Any, given: Any, op: Any, found: ProcessGroup, async_op: bool
) -> Work | None:
    """The rank's share of the reduction of flat `given`."""
    check_reduction("all_reduce", op, output._data.dtype)  # PyTorch names it all_reduce here, too
    out = Buffer(output, found)
    if op.op is RedOpType.PREMUL_SUM:
        given = given * factor_of(op, given.dtype)

    def finish(work: Work) -> None:
        _averaged(out.array, op, found.size(), as_pairs=False)
        out.put_back()

    return found.start(
        f"{name}({op.op.name}, {described(output)})",
        lambda: transport_of(found, output).reduce_scatter(out.array, given, op),
        result=[output], finish=copying_into([output], finish), async_op=async_op,
    )  # fmt: skip


@between_stretches(writes="output")
def reduce_scatter(
    output: Any, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce lists of tensors over all ranks; each gets the result for its index."""
    check_tensor(output, "output")
    check_tensors(input_list, "input_list")
    same_dtype(output, *input_list)
    if (found := group_of(group, "reduce_scatter")) is None:
        return None
    if len(input_list) != found.size():
        raise RuntimeError("invalid input tensor list size, must be world size")
    check_alike("reduce_scatter", "input", input_list, output, found.size())
    given = joined([Buffer(one, found).array for one in input_list])
    return _reduced_share("reduce_scatter", output, given, as_reduce_op(op), found, async_op)


@between_stretches(writes="output")
def reduce_scatter_tensor(
    output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce a tensor over all ranks; each gets its share of the result."""
    check_tensor(output, "output")
    check_tensor(input, "input")
    if (found := group_of(group, "reduce_scatter_tensor")) is None:
        return None
    check_same_type("reduce_scatter", input, output)
    check_whole("reduce_scatter", input, output, found.size())
    given = Buffer(input, found).array
    return _reduced_share("reduce_scatter_tensor", output, given, as_reduce_op(op), found, async_op)


reduce_scatter_single = reduce_scatter_tensor
