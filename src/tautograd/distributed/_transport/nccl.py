"""NCCL through CuPy's binding: collectives on GPU memory, in the order of their own stream.

A group that has NCCL has MPI as well: MPI carries the communicator's unique id and the barriers. Where
NCCL has no collective, a group of its sends and receives is used. It refuses two ranks on one device: each rank needs
its own GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._reduce_op import RedOpType, ReduceOp

# The numbers of ncclRedOp_t and ncclDataType_t, which are part of NCCL's interface.
_OPERATIONS = {
    RedOpType.SUM: 0,
    RedOpType.PREMUL_SUM: 0,
    RedOpType.AVG: 0,  # divided afterwards, so that it means the same on every transport
    RedOpType.PRODUCT: 1,
    RedOpType.MAX: 2,
    RedOpType.MIN: 3,
}
_DATATYPES = {
    "int8": 0, "uint8": 1, "bool": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5,
    "float16": 6, "float32": 7, "float64": 8, "bfloat16": 9,
}  # fmt: skip


class NcclRequest:
    """Work on a stream; done when an event recorded after it has completed."""

    def __init__(self, stream: Any, *kept: Any) -> None:
        self._event = stream.record()
        self._kept = kept

    def test(self) -> bool:
        """Whether the GPU has passed it."""
        return bool(self._event.done)

    def received(self) -> None:
        """None: NCCL does not report the sender."""
        return


class NcclTransport:
    """The collectives of a NCCL communicator, one process to a GPU."""

    def __init__(self, comm: Any, device: int) -> None:
        import cupy
        from cupy.cuda import nccl

        self.comm, self._nccl = comm, nccl
        self._device = cupy.cuda.Device(device)
        identity = comm.bcast(nccl.get_unique_id() if comm.rank == 0 else None)
        with self._device:
            self._nccl_comm = nccl.NcclCommunicator(comm.size, identity, comm.rank)
            self._stream = cupy.cuda.Stream(non_blocking=True)

    def _run(self, work: Callable[[int], Any], *kept: Any) -> NcclRequest:
        import cupy

        with self._device:
            self._stream.wait_event(cupy.cuda.get_current_stream().record())
            work(self._stream.ptr)
            return NcclRequest(self._stream, *kept)

    def _words(self, buffer: Any, op: ReduceOp | None = None) -> tuple[int, int]:
        """The number of elements and their NCCL type: complex numbers are pairs; what is only moved is bytes."""
        name = buffer.dtype.name
        if op is not None and op.op not in _OPERATIONS:
            raise RuntimeError(f"Cannot use ReduceOp.{op.op.name} with NCCL")
        if op is not None and name.startswith("complex"):
            return buffer.size * 2, _DATATYPES["float32" if name == "complex64" else "float64"]
        if name in _DATATYPES:
            return buffer.size, _DATATYPES[name]
        if op is not None:
            raise RuntimeError(f"NCCL has no reduction of {name}")
        return buffer.nbytes, _DATATYPES["uint8"]

    def all_reduce(self, buffer: Any, op: ReduceOp) -> NcclRequest:
        count, kind = self._words(buffer, op)
        at, how = buffer.data.ptr, _OPERATIONS[op.op]
        return self._run(lambda s: self._nccl_comm.allReduce(at, at, count, kind, how, s), buffer)

    def reduce(self, buffer: Any, op: ReduceOp, root: int) -> NcclRequest:
        count, kind = self._words(buffer, op)
        at, how = buffer.data.ptr, _OPERATIONS[op.op]
        return self._run(
            lambda s: self._nccl_comm.reduce(at, at, count, kind, how, root, s), buffer
        )

    def broadcast(self, buffer: Any, root: int) -> NcclRequest:
        count, kind = self._words(buffer)
        at = buffer.data.ptr
        return self._run(lambda s: self._nccl_comm.broadcast(at, at, count, kind, root, s), buffer)

    def all_gather(self, out: Any, given: Any) -> NcclRequest:
        count, kind = self._words(given)
        source, into = given.data.ptr, out.data.ptr
        return self._run(
            lambda s: self._nccl_comm.allGather(source, into, count, kind, s), out, given
        )

    def reduce_scatter(self, out: Any, given: Any, op: ReduceOp) -> NcclRequest:
        count, kind = self._words(out, op)
        source, into, how = given.data.ptr, out.data.ptr, _OPERATIONS[op.op]
        return self._run(
            lambda s: self._nccl_comm.reduceScatter(source, into, count, kind, how, s), out, given
        )

    def _exchange(self, sends: Sequence[Any], receives: Sequence[Any]) -> NcclRequest:
        """Messages to and from each rank at once; None for none."""

        def work(stream: int) -> None:
            self._nccl.groupStart()
            for peer, part in enumerate(sends):
                if part is not None and part.size:
                    self._nccl_comm.send(part.data.ptr, *self._words(part), peer, stream)
            for peer, part in enumerate(receives):
                if part is not None and part.size:
                    self._nccl_comm.recv(part.data.ptr, *self._words(part), peer, stream)
            self._nccl.groupEnd()

        return self._run(work, sends, receives)

    def _shares(self, buffer: Any, counts: Sequence[int] | None = None) -> list[Any]:
        counts = counts or [buffer.size // self.comm.size] * self.comm.size
        starts = [sum(counts[:i]) for i in range(len(counts))]
        return [buffer[at : at + n] for at, n in zip(starts, counts, strict=True)]

    def _only(self, root: int, part: Any) -> list[Any]:
        return [part if rank == root else None for rank in range(self.comm.size)]

    def gather(self, out: Any, given: Any, root: int) -> NcclRequest:
        receives = [] if out is None else self._shares(out)
        return self._exchange(self._only(root, given), receives)

    def scatter(self, out: Any, given: Any, root: int) -> NcclRequest:
        return self._exchange([] if given is None else self._shares(given), self._only(root, out))

    def all_to_all(
        self, out: Any, out_counts: Sequence[int], given: Any, given_counts: Sequence[int]
    ) -> NcclRequest:
        return self._exchange(self._shares(given, given_counts), self._shares(out, out_counts))

    def send(self, buffer: Any, peer: int, tag: int) -> NcclRequest:
        return self._exchange(self._only(peer, buffer), [])

    def recv(self, buffer: Any, peer: int | None, tag: int) -> NcclRequest:
        if peer is None:
            raise ValueError("NCCL receives from a rank that is named: give src")
        return self._exchange([], self._only(peer, buffer))

    def barrier(self) -> Any:
        from .mpi import MpiTransport

        self._stream.synchronize()
        return MpiTransport(self.comm).barrier()
