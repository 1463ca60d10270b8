"""Blocks at run time: the body for one part of the examples after the other, by each thread for its own parts.

The machine code reads addresses from a table, so going to the next part is moving the table on. Every
thread has a table of its own, memory of its own for what belongs to one part, and, all but the first, sums of
its own. Which parts are added to which sums is fixed, so that a run gives the same bits with any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.checks import UNKNOWN
from ..._ops.thread_pool import at_once
from ..._tensor.settings import get_num_threads
from ..._user_code.sites import resolve
from ..program.ir import Check
from ..program.memory import Memory
from ..program.memory_planning import ALIGNMENT


def repeated(part: Any, memory: Memory) -> Callable[[], None]:
    """A function that does a block."""
    from ..native import blas_alone

    count, slots = part.block.count, part.block.slots
    bounds = [count * k // slots for k in range(slots + 1)]
    sides = [_Side(part, memory, slot, bounds[slot], bounds[slot + 1]) for slot in range(slots)]

    def run() -> None:
        if slots > 1 and get_num_threads() > 1:
            with blas_alone() as obeys:
                if obeys:
                    at_once([side.run for side in sides])
                    return
        for side in sides:
            side.run()

    return run


def failure(status: int, part: Any) -> Exception:
    """What native code reports by its status: a check's own error, or an index and the line of the user's code."""
    instruction, where = part.instructions[status - 1], resolve(part.sites[status - 1])
    line = f", in {where}" if where else ""
    if not isinstance(instruction, Check):
        return IndexError(f"index out of range{line}")
    error = instruction.error(UNKNOWN)
    error.args = (f"{error}{line}",)
    return error


class _Side:
    """One thread's code, table and parts."""

    def __init__(self, part: Any, memory: Memory, slot: int, start: int, stop: int) -> None:
        block, table = part.block, memory.table
        self.table = table
        self.own = np.empty_like(table)
        self.address = _start(self.own)
        self.native = part.native if slot == 0 else part.native.twin()
        self.part = part
        self.steps = np.zeros(len(table), np.uintp)
        for buffer, step in block.steps.items():
            self.steps[buffer] = step
        self.start, self.stop = start, stop
        self.moved: dict[int, int] = {}
        if slot:
            size = memory.program.buffers[block.room].nbytes
            self.room = np.empty(size + ALIGNMENT, np.uint8)  # the table knows its address only
            begin = _start(self.room)
            begin += -begin % ALIGNMENT
            self.moved = {n: begin + part.places[n] for n in block.inner if n in part.places}
            self.moved |= {n: int(table[others[slot - 1]]) for n, others in block.sums.items()}

    def run(self) -> None:
        own, steps, call, address = self.own, self.steps, self.native.call, self.address
        np.copyto(own, self.table)
        for buffer, place in self.moved.items():
            own[buffer] = place
        if self.start:
            own += steps * np.uintp(self.start)
        add = np.add
        for _ in range(self.start, self.stop):
            status = call(address)
            if status:
                raise failure(status, self.part)
            add(own, steps, own)


def _start(array: Any) -> int:
    found: int = array.__array_interface__["data"][0]
    return found
