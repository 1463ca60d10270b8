"""`ProcessGroup`: some ranks, the transport between them, and what is reported when one does not come.

Each collective has a number in its group. Before it starts, a rank writes that number to the group's board with the
line of the program. So a mismatch between two ranks is found by the second one before anything
wrong is exchanged, and by the others while they wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from .._user_code.stack import user_site
from ._blocking import GRACE
from ._board import Board
from ._errors import DistBackendError
from ._transport.base import Request, Transport
from ._transport.mpi import MpiTransport, TooLong
from ._work import GAVE_UP, Work, progress


class ProcessGroup:
    """Ranks that communicate; `ranks` are their global numbers."""

    __module__ = "torch.distributed"

    def __init__(
        self,
        comm: Any,
        board: Board,
        ranks: Sequence[int],
        timeout: timedelta,
        backend: str,
        name: str,
        desc: str = "undefined",
        device: int | None = None,
    ) -> None:
        self.comm, self.ranks = comm, list(ranks)
        self.backend, self.group_name, self.group_desc = backend, name, desc
        self.timeout = timeout
        self.board = board
        self.bound_device_id: Any = None
        self._number = 0
        self._broken: str | None = None
        self._transports: dict[str, Transport] = {"cpu": MpiTransport(comm)}
        self._device = device
        self._rank: int = comm.rank
        self._size: int = comm.size

    def rank(self) -> int:
        """This process's rank in the group."""
        return self._rank

    def size(self) -> int:
        """The number of ranks."""
        return self._size

    def name(self) -> str:
        """The backend's name."""
        return self.backend

    def __repr__(self) -> str:
        return (
            f"<torch.distributed.distributed_c10d.ProcessGroup {self.group_name}: rank {self._rank} "
            f"of {self._size}, {self.backend}>"
        )

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle 'ProcessGroup' object")

    def __deepcopy__(self, memo: Any) -> ProcessGroup:
        return self

    def transport_for(self, device_type: str) -> Transport:
        """The transport for this kind of memory; NCCL starts when GPU memory first needs it."""
        found = self._transports.get(device_type)
        if found is None:
            from ._transport.nccl import NcclTransport

            found = self._transports[device_type] = NcclTransport(self.comm, self._device or 0)
        return found

    def carries(self, device_type: str) -> bool:
        """Whether this kind of memory is sent directly; otherwise it is copied through the CPU's."""
        return device_type == "cpu" or (device_type == "cuda" and "nccl" in self.backend)

    # --- starting -----------------------------------------------------------------------------

    def start(
        self,
        what: str,
        begin: Callable[[], Request],
        *,
        result: Sequence[Any] = (),
        finish: Callable[[Work], Exception | None] | None = None,
        timeout: timedelta | None = None,
        async_op: bool = False,
        peer: int | None = None,
        collective: bool = True,
    ) -> Work | None:
        """Start something, and wait for it unless `async_op`, which returns the work."""
        if self._broken is not None:
            raise DistBackendError(
                f"[rank {self._here}] {what}: this process group cannot be used any more, since "
                f"{self._broken}"
            )
        site = user_site(1)
        number = 0
        if collective:
            self._number = number = self._number + 1
            what = f"{what} #{number}"
        label = f"{what} at {site.place}" if site is not None else what
        if collective and self._size > 1:
            self.board.enter(number, label.encode())
            difference = self._difference(what, number)
            if difference is not None:
                raise self._breaks(label, difference)
        limit = (timeout or self.timeout).total_seconds()
        try:
            request = begin()
        except Exception as error:
            raise self._breaks(label, str(error)) from error
        work = Work(self, label, number, peer, request, list(result), finish, limit)
        if async_op:
            if not work._poll():
                progress.look_after(work)
            return work
        work.wait()
        return None

    @property
    def _here(self) -> int:
        return self.ranks[self._rank]

    def failed(self, said: str) -> DistBackendError:
        """The error of a failure that leaves the group in an unknown state; the group cannot be used any more."""
        self._broken = said.partition("\n")[0]
        return DistBackendError(said)

    def _breaks(self, label: str, reason: str) -> DistBackendError:
        self._broken = f"{label} failed: {reason}"
        return DistBackendError(f"[rank {self._here}] {label}: {reason}")

    # --- what the others do -------------------------------------------------------------------

    def waits(self, label: str) -> None:
        """Record on the board that this rank waits in something, or (empty) no longer."""
        if self._size > 1:
            self.board.now(label.encode())

    def _difference(self, what: str, number: int) -> str | None:
        """What another rank calls under the same number, if that differs."""
        board = self.board
        for rank in board.local:
            if rank == self._rank or not board.seen(rank) or board.number(rank) < number:
                continue
            theirs = board.entry(rank, number)
            if theirs is None or f"{what} at ".startswith(theirs[: len(what) + 4]):
                continue
            if board.entry(rank, number) == theirs:  # not half of a later entry that overwrites it
                return (
                    f"mismatched collectives: rank {self.ranks[rank]} calls {theirs} in its place. "
                    "Every rank of a group has to make the same calls in the same order"
                )
        return None

    def look(self, work: Work, waited: float) -> DistBackendError | None:
        """An error if there is a reason to stop waiting, else None."""
        board = self.board
        if work.number:
            difference = self._difference(work.what, work.number)
            if difference is not None:
                return self._breaks(work.label, difference)
        peers = range(self._size) if work.peer is None else [work.peer]
        for rank in peers:
            if not board.has_ended(rank):
                continue
            came = work.number and board.number(rank) >= work.number
            if (came or not work.number) and waited < GRACE:
                continue  # what it sent may still be on its way
            return self._breaks(work.label, f"it cannot be completed: {self._doing(rank, work)}")
        return None

    def ended(self, ranks: Sequence[int], work: Work) -> str | None:
        """Which of these ranks has exited, if one has."""
        gone = next((rank for rank in ranks if self.board.has_ended(rank)), None)
        return None if gone is None else self._doing(gone, work)

    def _doing(self, rank: int, work: Work) -> str:
        return self.doing(rank, work.label if work.number else "")

    def doing(self, rank: int, label: str = "") -> str:
        """What a rank is doing, relative to a call of this one (its label)."""
        who = f"rank {self.ranks[rank]}"
        board = self.board
        if not board.seen(rank):
            host = board.hosts[rank]
            return f"{who} is on another machine ({host}); its own error says where it waits"
        number = board.number(rank)
        last = board.entry(rank, number) if number else None
        if board.has_ended(rank):
            state = f"{who} has ended (process {board.process(rank)} is gone)"
        elif waiting := board.waits_in(rank):
            verb = "gave up waiting" if waiting.startswith(GAVE_UP) else "waits"
            waiting = waiting.removeprefix(GAVE_UP)
            return f"{who} {verb} in {'the same call' if waiting == label else waiting}"
        else:
            state = f"{who} is running outside of any collective"
        return f"{state}; the last one it entered: {last or 'none'}"

    def report(self, work: Work) -> str:
        """One line per other rank: what it is doing."""
        others = [rank for rank in range(self._size) if rank != self._rank]
        return "".join(f"\n  {self._doing(rank, work)}" for rank in others)

    def timed_out(self, work: Work, limit: float) -> DistBackendError:
        """The error of work that has exceeded its time limit."""
        return self._breaks(
            work.label,
            f"Timed out waiting {limit * 1000:.0f}ms for the operation to complete"
            + self.report(work),
        )

    def explained(self, work: Work, error: BaseException) -> BaseException:
        """A transport's error, with who and where."""
        if isinstance(error, DistBackendError):
            return error
        if isinstance(error, TooLong) and work.peer is not None:
            room = sum(int(tensor.nbytes) for tensor in work.result())
            return self._breaks(
                work.label,
                f"rank {self.ranks[work.peer]} sent more than the {room} bytes that the tensor to receive them has",
            )
        found = self._breaks(work.label, f"{error}{self.report(work)}")
        found.__cause__ = error
        return found

    @property
    def is_broken(self) -> bool:
        """Whether a failure has left messages behind."""
        return self._broken is not None

    def close(self) -> None:
        """Release the communicator and the board."""
        self.board.close()
        if self._broken is None and self.comm is not None:
            self.comm.Free()
        self.comm = None
