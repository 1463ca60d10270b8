"""A program run kernel by kernel, each held against its instructions: so wrong machine code is found where it is.

A second memory, in which every buffer has a place of its own, follows the first. Before a kernel runs, what it reads
must lie in the program's memory as it was left there, to the bit: else memory was planned wrongly. NumPy then does the
kernel's instructions in the second memory, and what the kernel has written must agree within the bound that `rounding`
derives for just these few instructions. The second memory takes over what the kernel wrote, so bounds stay as
tight as for a single kernel, however long the program. By induction, machine code that passes is an
evaluation of the program that differs from another one by rounding only.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

from ..program.ir import Block, Kind, View, overlap, rewritten
from ..program.memory import bytes_of
from .blocks import failure
from .numpy_calls import as_call
from .rounding import Rounding, Unbounded, apart


class Wrong(NamedTuple):
    """The first thing that a kernel did wrong."""

    instruction: Any
    site: Any
    what: str


class Stepwise:
    """One run of a program that is watched."""

    def __init__(self, replay: Any, arrays: list[Any]) -> None:
        self.replay = replay
        self.memory, self.program = copy.copy(replay.memory), replay.program
        self.arguments = {v.buffer: i for i, v in enumerate(replay.arguments) if i < len(arrays)}
        self.arrays = arrays
        self.staged = set(replay.staged)
        self.rounding = Rounding(self.program, [self._copy(b) for b in self.program.buffers])
        own = (Kind.EXTERNAL, Kind.ARGUMENT, Kind.CONSTANT)
        self.stored = {b.number for b in self.program.buffers if b.kind in own}
        self._run_on_copies()
        self.wrong: Wrong | None = None
        self.kernels = 0  # that were compared

    def _copy(self, buffer: Any) -> Any:
        base = np.zeros(buffer.nbytes, np.uint8)
        place = self.arguments.get(buffer.number)
        if buffer.kind in (Kind.EXTERNAL, Kind.KEPT) or place in self.staged:
            base[:] = self.memory.bases[buffer.number][: buffer.nbytes]
        elif buffer.kind is Kind.CONSTANT:
            return bytes_of(buffer.array)
        elif place is not None:
            whole = self.replay.arguments[place]
            there = np.ndarray(whole.shape, whole.dtype, base, whole.offset, whole.strides)
            np.copyto(there, self.arrays[place])
        return base

    def _run_on_copies(self) -> None:
        """Let the program see copies of all that is not its own, those that the second memory begins with.

        What it writes there is seen by nobody else, and what other threads write meanwhile is not taken for a fault.
        """
        memory = self.memory
        memory.table, memory.bases = memory.table.copy(), list(memory.bases)
        for buffer in self.program.buffers:
            if buffer.kind in (Kind.EXTERNAL, Kind.KEPT) or buffer.number in self.arguments:
                base = self.rounding.bases[buffer.number].copy()
                memory.bases[buffer.number] = base
                memory.table[buffer.number] = base.__array_interface__["data"][0]

    def run(self) -> None:
        """Run the first stretch; it stops at a check as it always does."""
        with np.errstate(all="ignore"):
            for part in self.replay.stretches[0]:
                if part.block is not None:
                    self._block(part)
                elif part.native is not None:
                    table = self.memory.table.__array_interface__["data"][0]
                    self._kernels(part, part.native, table, part.instructions)
                else:
                    for instruction in part.instructions:
                        as_call(instruction, self.memory.array)()
                        self._take_over(instruction.writes())

    def _block(self, part: Any) -> None:
        """The parts of the examples one after the other, by one thread; the first and the last are compared."""
        block: Block = part.block
        table = self.memory.table.copy()
        steps = np.zeros(len(table), np.uintp)
        for buffer, step in block.steps.items():
            steps[buffer] = step
        for number in range(block.count):

            def moved(view: View, at: int = number) -> View:
                offset = view.offset + at * block.steps.get(view.buffer, 0)
                return View(view.buffer, offset, view.shape, view.strides, view.dtype)

            body = [rewritten(instruction, moved) for instruction in part.instructions]
            address = table.__array_interface__["data"][0]
            if number in (0, block.count - 1):
                self._kernels(part, part.native, address, body)
            else:
                _stop_at(part.native.call(address), part)
                for instruction in body:
                    self._take_over(v for v in instruction.writes() if v.buffer not in block.inner)
            table += steps
        self.stored -= set(block.inner)

    def _kernels(self, part: Any, native: Any, table: int, instructions: list[Any]) -> None:
        done: set[int] = set()
        stored: dict[int, int] = {}  # the last kernel that stores what an instruction gives
        for number, kernel in enumerate(native.kernels):
            for i in kernel.instructions:
                if any(view.buffer in kernel.writes for view in instructions[i].writes()):
                    stored[i] = number
        writers: dict[int, list[int]] = {}  # of each buffer
        for i, instruction in enumerate(instructions):
            for view in instruction.writes():
                writers.setdefault(view.buffer, []).append(i)
        for number, kernel in enumerate(native.kernels):
            mine = sorted(set(kernel.instructions))
            self._look_at_inputs(part, kernel, [instructions[i] for i in mine])
            for i in mine:
                # A kernel may lay out an operand for a later one; the others need not be there by then.
                waits = stored.get(i, -1) > number and any(
                    stored.get(j, -1) > number for j in _before(i, instructions, writers, done)
                )
                if not waits and not _only_prepares(kernel, instructions[i]):
                    self._simulate(i, instructions, writers, done)
            _stop_at(native.call_kernel(table, number), part)
            self.kernels += 1
            for i in mine:
                for view in instructions[i].writes():
                    if view.buffer in kernel.writes:
                        self._compare(instructions[i], part.sites[i], view)

    def _simulate(
        self, i: int, instructions: list[Any], writers: dict[int, list[int]], done: set[int]
    ) -> None:
        """Do an instruction in the second memory, and before it those of which nothing was stored."""
        if i in done:
            return
        for j in _before(i, instructions, writers, done):
            done.add(j)
            self.rounding.run([instructions[j]])
        done.add(i)
        self.rounding.run([instructions[i]])

    def _look_at_inputs(self, part: Any, kernel: Any, instructions: list[Any]) -> None:
        """What a kernel reads must be there as it was left."""
        made: set[int] = set()
        for instruction in instructions:
            for view in instruction.reads():
                known = view.buffer in self.stored and view.buffer in kernel.reads
                if known and view.buffer not in made:
                    self._require_same(instruction, part, view)
            made |= {view.buffer for view in instruction.writes()}

    def _require_same(self, instruction: Any, part: Any, view: View) -> None:
        there, here = self.memory.array(view), self.rounding.value(view)
        if self.wrong is None and there.tobytes() != here.tobytes():
            what = f"{view.dtype}{list(view.shape)} was overwritten before it was read"
            self.wrong = Wrong(instruction, None, what)

    def _compare(self, instruction: Any, site: Any, view: View) -> None:
        there = self.memory.array(view)
        if self.wrong is None:
            found = apart(there, self.rounding.value(view), self.rounding.radius(view))
            if found is not None:
                self.wrong = Wrong(instruction, site, found)
        self._take_over([view])

    def _take_over(self, views: Any) -> None:
        """Let the second memory have what the first has."""
        for view in views:
            np.copyto(self.rounding.value(view), self.memory.array(view))
            self.rounding.radius(view)[...] = 0
            self.stored.add(view.buffer)


def _before(
    i: int, instructions: list[Any], writers: dict[int, list[int]], done: set[int]
) -> list[int]:
    """What was not done yet and comes before an instruction, directly or not, in order."""
    found: set[int] = set()
    waiting = [i]
    while waiting:
        at = waiting.pop()
        new = {
            j
            for view in instructions[at].reads()
            for j in writers.get(view.buffer, ())
            if j < at and j not in done and j not in found
            if any(overlap(other, view) for other in instructions[j].writes())
        }
        found |= new
        waiting += new
    return sorted(found)


def _only_prepares(kernel: Any, instruction: Any) -> bool:
    """Whether a kernel lays out operands for an instruction that another one does, and that adds to what is there.

    Done in the second memory already, it would have been done twice for the kernel that does it.
    """
    written = {view.buffer for view in instruction.writes()}
    adds = not written.isdisjoint(view.buffer for view in instruction.reads())
    return adds and written.isdisjoint(kernel.writes)


def _stop_at(status: int, part: Any) -> None:
    if status:
        raise failure(status, part)


__all__ = ["Stepwise", "Unbounded", "Wrong"]
