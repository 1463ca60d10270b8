"""MPI through mpi4py: every collective in its non-blocking form, on NumPy arrays of any dtype."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._reduce_op import RedOpType, ReduceOp


def _largest(one: Any, other: Any, out: Any) -> None:
    _extreme(np.maximum, np.bitwise_and, one, other, out)


def _smallest(one: Any, other: Any, out: Any) -> None:
    _extreme(np.minimum, np.bitwise_or, one, other, out)


def _extreme(choose: Any, signs: Any, one: Any, other: Any, out: Any) -> None:
    """A symmetric function of two floats: NaN is the result if either is, and -0 is below 0.

    Ranks may reduce in different orders, and all have to get the same result. MPI's own MAX and MIN drop or keep NaN
    depending on which of the two comes first.
    """
    bits = np.dtype(f"u{one.dtype.itemsize}")
    zeros = np.flatnonzero((one == 0) & (other == 0))
    kept = signs(one.view(bits)[zeros], other.view(bits)[zeros])
    choose(one, other, out=out)
    out.view(bits)[zeros] = kept


# MPI has no 16-bit floats: their reductions are NumPy functions, which MPI calls on two runs of elements.
_BY_NUMPY: dict[RedOpType, Any] = {
    RedOpType.SUM: np.add,
    RedOpType.AVG: np.add,
    RedOpType.PREMUL_SUM: np.add,
    RedOpType.PRODUCT: np.multiply,
    RedOpType.MIN: _smallest,
    RedOpType.MAX: _largest,
}
_EXTREMES = (RedOpType.MIN, RedOpType.MAX)
_NATIVE = {
    RedOpType.SUM: "SUM",
    RedOpType.AVG: "SUM",
    RedOpType.PREMUL_SUM: "SUM",
    RedOpType.PRODUCT: "PROD",
    RedOpType.MIN: "MIN",
    RedOpType.MAX: "MAX",
    RedOpType.BAND: "BAND",
    RedOpType.BOR: "BOR",
    RedOpType.BXOR: "BXOR",
}
# A bool is a byte of 0 or 1, and must stay one: True + True is True.
_OF_BOOLS = {
    **_NATIVE,
    RedOpType.SUM: "MAX",
    RedOpType.PREMUL_SUM: "MAX",
    RedOpType.PRODUCT: "MIN",
}
_DATATYPES = {
    "bool": "UINT8_T", "uint8": "UINT8_T", "int8": "INT8_T", "int16": "INT16_T", "uint16": "UINT16_T",
    "int32": "INT32_T", "uint32": "UINT32_T", "int64": "INT64_T", "uint64": "UINT64_T",
    "float32": "FLOAT", "float64": "DOUBLE",
    "complex64": "C_FLOAT_COMPLEX", "complex128": "C_DOUBLE_COMPLEX",
}  # fmt: skip


def _mpi() -> Any:
    from mpi4py import MPI

    return MPI


@functools.cache
def _datatype(name: str, itemsize: int) -> Any:
    mpi = _mpi()
    if name in _DATATYPES:
        return getattr(mpi, _DATATYPES[name])
    return mpi.BYTE.Create_contiguous(itemsize).Commit()


@functools.cache
def _operation(kind: RedOpType, dtype: np.dtype[Any]) -> Any:
    mpi = _mpi()
    if dtype.name in _DATATYPES and not (dtype.kind == "f" and kind in _EXTREMES):
        return getattr(mpi, (_OF_BOOLS if dtype.kind == "b" else _NATIVE)[kind])
    function = _BY_NUMPY[kind]

    def reduce(given: Any, into: Any, datatype: Any) -> None:
        ours = np.frombuffer(into, dtype)
        function(np.frombuffer(given, dtype), ours, out=ours)

    return mpi.Op.Create(reduce, commute=True)


def _spec(buffer: Any) -> list[Any]:
    dtype = buffer.dtype
    return [buffer.view(np.uint8), buffer.size, _datatype(dtype.name, dtype.itemsize)]


class TooLong(RuntimeError):
    """More bytes came than there is room for."""


# Requests abandoned before they were done: MPI may still write to their arrays, when a late rank comes.
_given_up: list[Any] = []


class MpiRequest:
    """An MPI request; keeps the arrays it works on alive until it is done."""

    __slots__ = ("_kept", "_request", "_status")

    def __del__(self) -> None:
        if self._status is None:
            _given_up.append((self._request, self._kept))

    def __init__(self, request: Any, *kept: Any) -> None:
        self._request, self._kept = request, kept
        self._status: Any = None

    def test(self) -> bool:
        """Let MPI make progress; whether this request is done."""
        if self._status is None:
            library = _mpi()
            status = library.Status()
            try:
                done = self._request.Test(status)
            except library.Exception as error:
                if error.Get_error_class() == library.ERR_TRUNCATE:
                    raise TooLong("a message came that is longer than its tensor") from None
                raise
            if not done:
                return False
            self._status = status
        return True

    def received(self) -> tuple[int, int]:
        """The sender of the message that arrived, and its size in bytes."""
        return self._status.Get_source(), self._status.Get_count(_mpi().BYTE)


class MpiTransport:
    """The collectives of a communicator."""

    def __init__(self, comm: Any) -> None:
        self.comm = comm

    def all_reduce(self, buffer: Any, op: ReduceOp) -> MpiRequest:
        operation = _operation(op.op, buffer.dtype)
        request = self.comm.Iallreduce(_mpi().IN_PLACE, _spec(buffer), operation)
        return MpiRequest(request, buffer)

    def reduce(self, buffer: Any, op: ReduceOp, root: int) -> MpiRequest:
        operation = _operation(op.op, buffer.dtype)
        if self.comm.rank == root:
            request = self.comm.Ireduce(_mpi().IN_PLACE, _spec(buffer), operation, root)
        else:
            request = self.comm.Ireduce(_spec(buffer), None, operation, root)
        return MpiRequest(request, buffer)

    def broadcast(self, buffer: Any, root: int) -> MpiRequest:
        return MpiRequest(self.comm.Ibcast(_spec(buffer), root), buffer)

    def all_gather(self, out: Any, given: Any) -> MpiRequest:
        return MpiRequest(self.comm.Iallgather(_spec(given), self._each(out)), out, given)

    def _each(self, buffer: Any) -> list[Any]:
        memory, count, datatype = _spec(buffer)
        return [memory, count // self.comm.size, datatype]

    def gather(self, out: Any, given: Any, root: int) -> MpiRequest:
        into = None if out is None else self._each(out)
        return MpiRequest(self.comm.Igather(_spec(given), into, root), out, given)

    def scatter(self, out: Any, given: Any, root: int) -> MpiRequest:
        source = None if given is None else self._each(given)
        return MpiRequest(self.comm.Iscatter(source, _spec(out), root), out, given)

    def reduce_scatter(self, out: Any, given: Any, op: ReduceOp) -> MpiRequest:
        operation = _operation(op.op, out.dtype)
        counts = [out.size] * self.comm.size
        request = self.comm.Ireduce_scatter(_spec(given), _spec(out), counts, operation)
        return MpiRequest(request, out, given)

    def all_to_all(
        self, out: Any, out_counts: Sequence[int], given: Any, given_counts: Sequence[int]
    ) -> MpiRequest:
        request = self.comm.Ialltoallv(
            _in_runs(given, given_counts),
            _in_runs(out, out_counts),
        )
        return MpiRequest(request, out, given)

    def send(self, buffer: Any, peer: int, tag: int) -> MpiRequest:
        return MpiRequest(self.comm.Isend(_spec(buffer), peer, tag), buffer)

    def recv(self, buffer: Any, peer: int | None, tag: int) -> MpiRequest:
        source = _mpi().ANY_SOURCE if peer is None else peer
        return MpiRequest(self.comm.Irecv(_spec(buffer), source, tag), buffer)

    def barrier(self) -> MpiRequest:
        return MpiRequest(self.comm.Ibarrier())


def _in_runs(buffer: Any, counts: Sequence[int]) -> list[Any]:
    memory, _, datatype = _spec(buffer)
    starts = [sum(counts[:i]) for i in range(len(counts))]
    return [memory, (list(counts), starts), datatype]
