"""Blocks at run time: the body for one example after the other, half of them by a second thread.

The machine code reads addresses from a table, so going to the next example is moving the table on. The second
thread has a table of its own, memory of its own for what belongs to one example, and sums of its own that are
added when both are done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tensor.settings import get_num_threads
from ..optim._threads import executor
from .ir import array_of
from .memory import Memory

LEAST = 8  # examples that are worth a second thread


def repeated(part: Any, memory: Memory) -> Callable[[], None]:
    """A function that does a block."""
    from .native import blas_alone

    block, table = part.block, memory.table
    steps = np.zeros(len(table), np.uintp)
    for buffer, step in block.steps.items():
        steps[buffer] = step
    first = _Side(part.native, table, steps)
    count = block.count
    if count < LEAST:
        return lambda: first.run(table, 0, count)
    second = _Side(part.other, table, steps)
    second.rooms = rooms = [
        (n, np.empty(memory.program.buffers[n].nbytes + 64, np.uint8)) for n in block.inner
    ]
    sums = [(v, np.zeros(memory.program.buffers[v.buffer].nbytes, np.uint8)) for v in block.sums]
    moved = {n: _aligned(room) for n, room in rooms}
    moved.update({view.buffer: _start(room) for view, room in sums})
    totals = [(memory.array(view), array_of(view, room)) for view, room in sums]
    half = count // 2

    def run() -> None:
        if get_num_threads() < 2:
            first.run(table, 0, count)
            return
        with blas_alone() as obeys:
            if not obeys:
                first.run(table, 0, count)
                return
            for _, room in sums:
                room.fill(0)
            job = executor().submit(second.run, table, half, count, moved)
            try:
                first.run(table, 0, half)
            finally:
                job.result()
        for total, part_of in totals:
            np.add(total, part_of, out=total)

    return run


class _Side:
    """One thread's code, table and examples."""

    def __init__(self, native: Any, table: Any, steps: Any) -> None:
        self.native = native
        self.own = np.empty_like(table)
        self.address = _start(self.own)
        self.steps = steps
        self.rooms: list[Any] = []  # memory that the table only knows the address of

    def run(self, table: Any, start: int, stop: int, moved: dict[int, int] | None = None) -> None:
        own, steps, call, address = self.own, self.steps, self.native.call, self.address
        np.copyto(own, table)
        for buffer, place in (moved or {}).items():
            own[buffer] = place
        if start:
            own += steps * np.uintp(start)
        add = np.add
        for _ in range(start, stop):
            if call(address):
                raise IndexError("index out of range in a compiled function")
            add(own, steps, own)


def _start(array: Any) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


def _aligned(room: Any) -> int:
    start = _start(room)
    return start + -start % 64
