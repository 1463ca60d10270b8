"""What of a program can be done for a part of the examples at a time, and what comes before and after that.

Instructions are taken in their order. One is inside if it reads or writes, in parts, what is in parts already; it
comes after if it depends on what is complete only then; else it can come before. None changes places with another
that it depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from ..ir import Call, Check, Instruction, Kind, Product, Program, View, overlap
from .splits import Way, lies_apart, operands, ways

SMALL = 1 << 14  # elements: what is smaller, and depends on nothing large, is done before


def work_of(product: Product) -> int:
    return product.output.size * product.left.shape[-1]


def period_of(view: View, d: int) -> int:
    """The bytes that all examples take if they are those of a dimension; 0 if it repeats one."""
    return view.strides[d] * view.shape[d]


@dataclass(slots=True)
class _Touched:
    """Views that some instructions read, and those that they write, by buffer."""

    reads: dict[int, set[View]] = field(default_factory=dict)
    writes: dict[int, set[View]] = field(default_factory=dict)

    def add(self, instruction: Instruction) -> None:
        for view in instruction.reads():
            self.reads.setdefault(view.buffer, set()).add(view)
        for view in instruction.writes():
            self.writes.setdefault(view.buffer, set()).add(view)

    def hinders(self, instruction: Instruction) -> bool:
        """Whether an instruction cannot change places with these."""
        reads, writes = self.reads, self.writes
        for view in instruction.reads():
            if view.buffer in writes and _meets(view, writes[view.buffer]):
                return True
        for view in instruction.writes():
            if view.buffer in writes and _meets(view, writes[view.buffer]):
                return True
            if view.buffer in reads and _meets(view, reads[view.buffer]):
                return True
        return False


def _meets(view: View, others: Iterable[View]) -> bool:
    return any(overlap(view, other) for other in others)


class Sorting:
    """Which instructions come before the parts, are done in parts and how, and come after them.

    `wants` are buffers, with their periods, that are to be in parts: the batch, to begin with, and what else
    is read in parts in the end.
    """

    def __init__(
        self,
        program: Program,
        numbers: range,
        count: int,
        wants: dict[int, int],
        cannot: Callable[[Any], Any],
    ) -> None:
        self.program = program
        self.cannot = cannot
        self.count = count
        self.wants = wants
        self.before: list[int] = []
        self.inside: list[tuple[int, Way]] = []
        self.after: list[int] = []
        self.periods: dict[int, int] = {}  # of buffers that are written in parts
        self.sliced: dict[int, int] = {}  # of buffers that are read in parts; 0: all by each
        self.mixed: set[int] = set()  # of these, those of which parts read what is not theirs
        self.totals: dict[int, list[View]] = {}  # what is added up, by buffer
        self.work = 0
        self._in, self._late = _Touched(), _Touched()
        self._late_effect = False
        for number in numbers:
            self._take(number)
        self.wants = self.sliced | self.periods
        self._look_again()

    def _take(self, number: int) -> None:
        instruction = self.program.instructions[number]
        if self._late.hinders(instruction):
            self._put_after(number)
        elif _is_small(instruction) and not self._in.hinders(instruction):
            self.before.append(number)
        elif not self._put_inside(number):
            if self._in.hinders(instruction) or (_acts(instruction) and self._late_effect):
                self._put_after(number)
            else:
                self.before.append(number)

    def _put_inside(self, number: int) -> bool:
        instruction = self.program.instructions[number]
        if self.cannot(instruction):
            return False
        way = next((w for w in ways(instruction) if self._accepts(instruction, w)), None)
        if way is None:
            return False
        self.inside.append((number, way))
        self._in.add(instruction)
        if isinstance(instruction, Product):
            self.work += work_of(instruction)
        return True

    def _put_after(self, number: int) -> None:
        instruction = self.program.instructions[number]
        self.after.append(number)
        self._late.add(instruction)
        self._late_effect = self._late_effect or _acts(instruction)

    def _look_again(self) -> None:
        """What could come before: is it wanted in parts after all, is it needed there, or can it come later?

        What is wanted by nobody would only lie about until the end.
        """
        kept, kept_touched = [], _Touched()
        acting = False
        for number in reversed(self.before):
            instruction = self.program.instructions[number]
            if not kept_touched.hinders(instruction) and not (acting and _acts(instruction)):
                stops = isinstance(instruction, Check)  # the sooner, the less there is to undo
                if not stops and not self._in.hinders(instruction):
                    self.after.append(number)
                    continue
                if not _is_small(instruction) and self._put_inside(number):
                    continue
            kept.append(number)
            kept_touched.add(instruction)
            acting = acting or _acts(instruction)
        self.before = kept[::-1]
        self.inside.sort(key=itemgetter(0))
        self.after.sort()

    def _accepts(self, instruction: Instruction, way: Way) -> bool:
        """Whether an instruction can be done in parts this way; if so, its buffers are noted."""
        periods: dict[int, int] = {}
        sliced: dict[int, int] = {}
        mixed: set[int] = set()
        driven = False
        total: View | None = None
        for view, d, writes in operands(instruction, way):
            n = view.buffer
            if n in self.totals and not (writes and d is None):
                return False
            if d is None:
                if writes:
                    total = view
                elif n in self.periods or self.sliced.get(n, 0) or sliced.get(n, 0):
                    return False
                else:
                    sliced[n] = 0
                continue
            period = period_of(view, d)
            apart = lies_apart(view, d, self.count)
            known = self.periods.get(n, periods.get(n))
            if known is not None or writes:
                if not apart or period != (period if known is None else known):
                    return False
                if n in self.mixed or self.sliced.get(n, period) != period:
                    return False
                periods[n] = period
                driven = driven or n in self.periods or self.wants.get(n) == period
                continue
            if view.shape[d] % self.count or period < 0:
                return False
            if self.sliced.get(n, period) != period or sliced.get(n, period) != period:
                return False
            sliced[n] = period
            if not apart:
                mixed.add(n)
            driven = driven or (period > 0 and self.wants.get(n) == period)
        if not driven or any(sliced.get(n, p) != p or n in mixed for n, p in periods.items()):
            return False
        if total is not None:
            kind = self.program.buffers[total.buffer].kind
            touched = total.buffer in self.periods or total.buffer in self.sliced
            if kind is Kind.ARGUMENT or touched or total.buffer in sliced:
                return False
            if _meets(total, self.totals.get(total.buffer, ())):
                return False
            self.totals.setdefault(total.buffer, []).append(total)
        self.periods.update(periods)
        self.sliced.update(sliced)
        self.mixed |= mixed
        return True

    def saves_memory(self, slots: int) -> bool:
        """Whether the sums of further threads are much less than what need not be there for all examples."""
        sums = sum(self.program.buffers[n].nbytes for n in self.totals)
        held = {v.buffer for i, _ in self.inside for v in self._large(i)}
        return 4 * sums * (slots - 1) <= sum(self.program.buffers[n].nbytes for n in held)

    def _large(self, number: int) -> Iterable[View]:
        """What a product has in memory, among what is cut."""
        instruction = self.program.instructions[number]
        if not isinstance(instruction, Product):
            return ()
        return [v for v in (*instruction.reads(), instruction.output) if v.buffer in self.periods]


def _is_small(instruction: Instruction) -> bool:
    if isinstance(instruction, (Product, Call)):
        return False
    return all(v.size <= SMALL for v in (*instruction.reads(), *instruction.writes()))


def _acts(instruction: Instruction) -> bool:
    return isinstance(instruction, Call) and instruction.effect
