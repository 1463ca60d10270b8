"""Shards: most of a training step is done for a part of the batch at a time, by each thread for its own parts.

What a layer does to one example does not depend on the others. So the instructions between a batch and the
gradients are done for some of the examples from beginning to end, then for the next: threads need not wait
for each other after every product, values stay in a core's cache, and memory is that of the parts in work.
What adds up over examples (gradients of weights, a loss) is added up by each thread for itself, and at the
end by all. What depends on such a sum comes after; what depends on no example comes before.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...run.differentiable import is_cut
from ..ir import Block, Instruction, Kind, Map, Product, Program, Reduce, View
from .sorting import Sorting, period_of, work_of
from .splits import in_part, packed
from .sums import Sums, new_scratch

WORTH_IT = 1 << 26  # multiplications
COVERED = 0.9  # of the multiplications are in parts, or it is left alone
PARTS = 2  # for each thread
TRIES = 3  # sizes that may be the batch's


def in_shards(program: Program, slots: int, cannot: Callable[[Any], Any]) -> Program:
    """Put stretches of a program into blocks over parts of the batch, for so many threads.

    `cannot` says why an instruction cannot be in a block, if so.
    """
    cuts = [i for i, instruction in enumerate(program.instructions) if is_cut(instruction)]
    written = {view.buffer for i in program.instructions for view in i.writes()}
    result = Program(list(program.buffers), [], [])
    start = 0
    for stop in [*cuts, len(program.instructions)]:
        sorted_ = _sorted(program, range(start, stop), written, slots, cannot)
        if sorted_ is None:
            result.instructions += program.instructions[start:stop]
            result.sites += program.sites[start:stop]
        else:
            _Writing(program, result, sorted_, slots).write()
        if stop < len(program.instructions):
            result.instructions.append(program.instructions[stop])
            result.sites.append(program.sites[stop])
        start = stop + 1
    return result


def _sorted(
    program: Program,
    numbers: range,
    written: set[int],
    slots: int,
    cannot: Callable[[Any], Any],
) -> Sorting | None:
    """The instructions of a stretch as they are to be done, if that is worth it."""
    instructions = [program.instructions[n] for n in numbers]
    total = sum(work_of(i) for i in instructions if isinstance(i, Product))
    if total < WORTH_IT or any(isinstance(i, Block) for i in instructions):
        return None
    leading = _leading(program, instructions, written)
    counts = {n: _count(n, slots) for n in sorted({v.shape[0] for v in leading.values()})}
    for examples, count in [(n, c) for n, c in counts.items() if c is not None][:TRIES]:
        seeds = {n: period_of(v, 0) for n, v in leading.items() if v.shape[0] % examples == 0}
        sorting = Sorting(program, numbers, count, seeds, cannot)
        if sorting.inside and sorting.work >= COVERED * total and sorting.saves_memory(slots):
            return sorting
    return None


def _count(examples: int, slots: int) -> int | None:
    """How many parts: some for each thread, all of one size."""
    for each in (PARTS, PARTS - 1, PARTS + 1):
        if each and examples % (each * slots) == 0:
            return each * slots
    return None


def _leading(
    program: Program, instructions: list[Instruction], written: set[int]
) -> dict[int, View]:
    """Arrays from outside that nobody writes, as they are seen first: a batch is one of them."""
    found: dict[int, View] = {}
    for instruction in instructions:
        for view in instruction.reads():
            kind = program.buffers[view.buffer].kind
            if kind not in (Kind.EXTERNAL, Kind.ARGUMENT) or view.buffer in written:
                continue
            if view.ndim and view.shape[0] > 1 and view.strides[0] > 0:
                found.setdefault(view.buffer, view)
    return found


class _Writing:
    """The instructions of a sorted stretch, with one block for all that is done in parts."""

    def __init__(self, program: Program, result: Program, sorted_: Sorting, slots: int) -> None:
        self.program = program
        self.result = result
        self.sorted = sorted_
        self.slots = slots
        self.inner: dict[int, int] = {}  # buffers that hold one part only, by those that held all
        self.small: list[int] = []  # buffers for a part's sums

    def write(self) -> None:
        sorted_, result = self.sorted, self.result
        self._copy(sorted_.before)
        totals = [view for views in sorted_.totals.values() for view in views]
        sums = Sums(result.buffers, totals, self.slots)
        goes_on = {
            instruction.output
            for instruction in (self.program.instructions[i] for i, _ in sorted_.inside)
            if isinstance(instruction, Product) and instruction.adds
        }
        begun = [view for view in totals if view not in goes_on]
        whole: list[Instruction] = [*sums.cleared(begun), self._block(sums), *sums.added()]
        result.instructions += whole
        result.sites += [self.program.sites[sorted_.inside[0][0]]] * len(whole)
        self._copy(sorted_.after)

    def _copy(self, numbers: list[int]) -> None:
        self.result.instructions += [self.program.instructions[i] for i in numbers]
        self.result.sites += [self.program.sites[i] for i in numbers]

    def _new(self, nbytes: int) -> int:
        return new_scratch(self.result.buffers, nbytes)

    def _block(self, sums: Sums) -> Block:
        sorted_, count = self.sorted, self.sorted.count
        self._make_inner()
        body: list[Any] = []
        sites: list[Any] = []
        for number, way in sorted_.inside:
            part = in_part(self.program.instructions[number], way, count, self._placed)
            site = self.program.sites[number]
            if way.adds and isinstance(part, Product):
                body.append(replace(part, adds=True))
            elif way.adds:
                body += self._added(part)
                sites.append(site)
            else:
                body.append(part)
            sites.append(site)
        steps = {n: p // count for n, p in (sorted_.sliced | sorted_.periods).items() if p}
        moving = {n: step for n, step in steps.items() if n not in self.inner}
        whole = [self.program.instructions[number] for number, _ in sorted_.inside]
        reads = (
            tuple(v for i in whole for v in i.reads() if v.buffer not in self.inner) + sums.views
        )
        writes = tuple(v for i in whole for v in i.writes() if v.buffer not in self.inner)
        writes += sums.views
        own = (*self.inner.values(), *self.small)
        room = self._new(0)
        return Block(body, sites, count, self.slots, moving, reads, writes, own, room, sums.others)

    def _make_inner(self) -> None:
        """Memory for one part, in place of all, of what nobody outside sees."""
        inside = {number for number, _ in self.sorted.inside}
        outside = {
            view.buffer
            for number, instruction in enumerate(self.program.instructions)
            if number not in inside
            for view in (*instruction.reads(), *instruction.writes())
        }
        for n, period in self.sorted.periods.items():
            buffer = self.program.buffers[n]
            if buffer.kind is Kind.SCRATCH and n not in outside:
                self.inner[n] = self._new(-(-buffer.nbytes // period) * period // self.sorted.count)

    def _placed(self, view: View) -> View:
        """Where a view of a part lies."""
        buffer = self.inner.get(view.buffer)
        if buffer is None:
            return view
        return packed(view, buffer, self.sorted.periods[view.buffer], self.sorted.count)

    def _added(self, reduce: Reduce) -> list[Instruction]:
        """A part's sum, added to what is there."""
        out = reduce.output
        nbytes = math.prod(out.shape) * out.dtype.itemsize
        self.small.append(self._new(nbytes))
        part = View(self.small[-1], 0, out.shape, _in_rows(out), out.dtype)
        return [replace(reduce, output=part), Map("add", (out, part), out, (out.dtype,) * 3)]


def _in_rows(view: View) -> tuple[int, ...]:
    """The strides of an array of this shape that lies in rows."""
    strides, step = [], view.dtype.itemsize
    for n in reversed(view.shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))
