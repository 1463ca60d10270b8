"""A group's blackboard: what each rank on this machine is doing, readable by the others at any time.

MPI has no way to ask a rank that does not answer. So each rank writes the collective that it enters, with
the line of the program, into shared memory that all of them map. A rank that has waited too long reads it there,
even if the other process has died. It keeps a ring of entries, so that two ranks can be compared at the same number.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import socket
import struct
import tempfile
from typing import Any

_ENTRY = 256
_RING = 32
_HEADER = struct.Struct("<qq")  # process id, and the number of its latest collective
_NUMBER = struct.Struct("<q")
_PER_RANK = _ENTRY * (_RING + 2)  # a header, what the rank is in now, and the ring


class Board:
    """One region for each rank of a group; ranks on other machines have none."""

    def __init__(self, comm: Any) -> None:
        self.rank, self.size = comm.rank, comm.size
        self._map: mmap.mmap | None = None
        hosts = comm.allgather(socket.gethostname())
        here = [i for i, host in enumerate(hosts) if host == hosts[self.rank]]
        self.hosts = hosts
        self.local = frozenset(here)
        path = None
        if self.rank == here[0] and len(here) > 1:
            handle, path = tempfile.mkstemp(prefix="tautograd-board-")
            os.ftruncate(handle, _PER_RANK * self.size)
            os.close(handle)
        paths = comm.allgather(path)
        shared = paths[here[0]]
        if shared is not None:
            with contextlib.suppress(OSError), open(shared, "r+b") as file:
                self._map = mmap.mmap(file.fileno(), _PER_RANK * self.size)
                self._write(0, _HEADER.pack(os.getpid(), 0))
        comm.barrier()
        if path is not None:
            os.unlink(path)  # it exists as long as somebody maps it, and no longer

    def _write(self, offset: int, content: bytes) -> None:
        if self._map is not None:
            start = self.rank * _PER_RANK + offset
            self._map[start : start + len(content)] = content

    def enter(self, number: int, text: bytes) -> None:
        """Record that this rank enters its collective of this number."""
        if self._map is None:
            return
        text = text[: _ENTRY - 9]
        entry = _NUMBER.pack(number) + text + b"\0"
        self._write(_ENTRY * (2 + number % _RING), entry)
        self._write(8, _NUMBER.pack(number))

    def now(self, text: bytes) -> None:
        """Record what this rank waits in; empty when it no longer waits."""
        if self._map is not None:
            self._write(_ENTRY, text[: _ENTRY - 1] + b"\0")

    def _read(self, rank: int, offset: int, length: int = _ENTRY) -> bytes:
        assert self._map is not None
        start = rank * _PER_RANK + offset
        return self._map[start : start + length]

    def seen(self, rank: int) -> bool:
        """Whether a rank's region can be read from this process."""
        return self._map is not None and rank in self.local

    def number(self, rank: int) -> int:
        """How many collectives a rank has entered."""
        return int(_HEADER.unpack(self._read(rank, 0, 16))[1])

    def entry(self, rank: int, number: int) -> str | None:
        """What a rank entered under a number; None if it has not, or if the ring no longer holds it."""
        raw = self._read(rank, _ENTRY * (2 + number % _RING))
        if _NUMBER.unpack(raw[:8])[0] != number:
            return None
        return raw[8:].split(b"\0", 1)[0].decode(errors="replace")

    def waits_in(self, rank: int) -> str:
        """What a rank waits in now; empty if it computes."""
        return self._read(rank, _ENTRY).split(b"\0", 1)[0].decode(errors="replace")

    def process(self, rank: int) -> int:
        """A rank's process id."""
        return int(_HEADER.unpack(self._read(rank, 0, 16))[0])

    def has_ended(self, rank: int) -> bool:
        """Whether a rank's process has exited. False for one on another machine, where this cannot be known."""
        if not self.seen(rank) or rank == self.rank:
            return False
        process = self.process(rank)
        return process > 0 and not is_running(process)

    def close(self) -> None:
        """Release the memory."""
        if self._map is not None:
            self._map.close()
            self._map = None


def is_running(process: int) -> bool:
    """Whether a process of this machine is still running; a zombie is not."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:  # no /proc here: it answers to signals, so it exists
        return True
