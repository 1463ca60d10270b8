"""Which steps can share a loop nest.

A step may join a nest if it runs over the same dimensions and meets the nest's memory element by element:
what one iteration writes, no other iteration reads or writes. A nest with a reduction has rows: its steps
run for each element, or once for each row, and what needs a row's sum waits for the next pass over that row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...dynamic.size import example, same
from ...program.ir import Instruction, View, span
from ..llvm import vector_math
from .dimensions import Factors, common, cut, cut_access, cut_step, factors
from .steps import Access, Step, spread

MOST_STEPS = 64
MOST_STREAMS = 24
MANY = 1 << 16  # elements


@dataclass(slots=True)
class Touch:
    """Memory that a nest reads or writes, and when."""

    view: View
    access: Access | None  # None: in no fixed order
    writes: bool
    time: int
    span: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.span = span(self.view)

    def meets(self, other: Touch) -> bool:
        """Whether two of one buffer may share an element, and one of them writes it."""
        return (
            (self.writes or other.writes)
            and self.span[0] < other.span[1]
            and other.span[0] < self.span[1]
        )


@dataclass(slots=True, eq=False)
class Nest:
    """Steps that run in one loop nest; or one instruction that is a kernel by itself."""

    instructions: list[int]
    dims: tuple[int, ...] = ()
    reduced: tuple[bool, ...] | None = None
    steps: list[Step] = field(default_factory=list)
    touched: list[Touch] = field(default_factory=list)
    of_buffer: dict[int, list[Touch]] = field(default_factory=dict)
    made: set[Access | None] = field(default_factory=set)  # written before it was read, if read
    read: set[Access | None] = field(default_factory=set)  # from memory
    ended: str = ""
    _touches_of: list[list[Touch]] = field(default_factory=list)  # of each step

    @property
    def size(self) -> int:
        return math.prod(self.dims)

    @property
    def passes(self) -> int:
        return max((s.time // 2 + 1 for s in self.steps if s.time >= 0), default=0)

    @property
    def is_heavy(self) -> bool:
        """Whether there is much to compute for each element."""
        return example(self.size) > MANY and any(
            s.function in vector_math.RULES for s in self.steps
        )

    def offer(self, step: Step, instruction: Instruction) -> str | None:
        """Take a step in; or say why it cannot be."""
        if not self.steps:
            return "a kernel by itself"
        if len(self.steps) >= MOST_STEPS:
            return "the nest is full"
        fitted = self._fit(step)
        if fitted is None:
            return "other dimensions"
        step, parts = fitted
        if step.reduced is not None and self.reduced is None and self.is_heavy and _is_down(step):
            return "it sums down columns"  # much to do in each row: better row by row
        touches = touches_of(step, instruction)
        finer = any(len(sizes) > 1 for sizes in parts)

        def now(access: Access | None) -> Access | None:
            return cut_access(access, parts) if finer and access is not None else access

        made, read = self.made, self.read
        if finer:
            made, read = {now(a) for a in made}, {now(a) for a in read}
        more = {t.access for t in touches if not t.writes} - made - read
        if sum(a is None or any(a.strides) for a in read | more) > MOST_STREAMS:
            return "too much memory at once"
        time = 0 if step.full else -1
        for new_touch in touches:
            for old in self.of_buffer.get(new_touch.view.buffer, ()):
                if not new_touch.meets(old):
                    continue
                if new_touch.access is None or new_touch.access != now(old.access):
                    return "it meets the same memory in another order"
                time = max(time, old.time)
        if (time % 2 == 0) != step.full:
            time += 1
        step.time = time
        if finer:
            self._cut(parts)
            self.made, self.read = made, read
        self.add(step, touches)
        return None

    def offer_all(self, steps: Sequence[Step], instructions: Sequence[Instruction]) -> str | None:
        """Take in steps of which each is there for the last one alone; or none of them, and say why."""
        if len(steps) == 1:
            return self.offer(steps[0], instructions[0])
        before = self._state()
        for step, instruction in zip(steps, instructions, strict=True):
            refused = self.offer(step, instruction)
            if refused is not None:
                self._restore(before)
                return refused
        self._sink(len(steps))
        return None

    def _sink(self, count: int) -> None:
        """Let the last steps happen in the pass in which they are read."""
        unit = self.steps[-count:]
        for i in reversed(range(count - 1)):
            step = unit[i]
            readers = [s for s in unit[i + 1 :] if step.output in s.inputs]
            if not step.full or not readers or not all(s.full for s in readers):
                continue
            time = min(s.time for s in readers)
            if time > step.time:
                step.time = time
                for touch in self._touches_of[-count + i]:
                    touch.time = time

    def _state(self) -> tuple[Any, ...]:
        counts = len(self.instructions), len(self.touched)
        accesses = [touch.access for touch in self.touched]
        sets = set(self.made), set(self.read)
        return self.dims, self.reduced, list(self.steps), counts, accesses, sets

    def _restore(self, state: tuple[Any, ...]) -> None:
        self.dims, self.reduced, self.steps, (instructions, touched), accesses, sets = state
        self.made, self.read = sets
        del self.instructions[instructions:]
        for touch in reversed(self.touched[touched:]):
            self.of_buffer[touch.view.buffer].pop()
        del self.touched[touched:], self._touches_of[len(self.steps) :]
        for touch, access in zip(self.touched, accesses, strict=True):
            touch.access = access

    def _fit(self, step: Step) -> tuple[Step, Factors] | None:
        """The step over the nest's dimensions, and how these have to be cut for it (not at all: [])."""
        if same(step.dims, self.dims) and (
            step.reduced is None or self.reduced in (None, step.reduced)
        ):
            return step, []
        if same(math.prod(step.dims), self.size):
            fine = common(step.dims, self.dims)
            if fine is None:
                return None
            step = cut_step(step, factors(step.dims, fine))
            parts = factors(self.dims, fine)
            if step.reduced and self.reduced and step.reduced != cut(self.reduced, parts):
                return None
            return step, parts
        if self.reduced is None or step.reduced is not None:
            return None
        kept = [n for n, r in zip(self.dims, self.reduced, strict=True) if not r]
        if not same(math.prod(step.dims), math.prod(kept)):
            return None
        fine = common(step.dims, kept)
        if fine is None:
            return None
        step = cut_step(step, factors(step.dims, fine))
        of_kept = iter(factors(kept, fine))
        parts = [(n,) if r else next(of_kept) for n, r in zip(self.dims, self.reduced, strict=True)]
        dims = tuple(n for sizes in parts for n in sizes)
        return spread(step, cut(self.reduced, parts), dims), parts

    def _cut(self, parts: Factors) -> None:
        """Cut the nest's dimensions finer."""
        self.dims = tuple(n for sizes in parts for n in sizes)
        if self.reduced is not None:
            self.reduced = cut(self.reduced, parts)
        self.steps = [cut_step(step, parts) for step in self.steps]
        for touch in self.touched:
            if touch.access is not None:
                touch.access = cut_access(touch.access, parts)

    def add(self, step: Step, touches: list[Touch]) -> None:
        for touch in touches:
            touch.time = step.written_at if touch.writes else step.time
            self.of_buffer.setdefault(touch.view.buffer, []).append(touch)
            if touch.writes:
                self.made.add(touch.access)
            elif touch.access not in self.made:
                self.read.add(touch.access)
        self.touched.extend(touches)
        self._touches_of.append(touches)
        self.steps.append(step)
        self.instructions.append(step.number)
        self.reduced = self.reduced or step.reduced


def _is_down(step: Step) -> bool:
    """Whether a reduction's input lies row by row, and rows are summed up."""
    assert step.reduced is not None
    (source, *_) = step.inputs
    if not isinstance(source, Access):
        return False
    beside = (s == source.dtype.itemsize for s in source.strides)
    return any(b and not r for b, r in zip(beside, step.reduced, strict=True))


def touches_of(step: Step, instruction: Instruction) -> list[Touch]:
    views = list(instruction.reads())[len(step.whole) :]
    touches = [
        Touch(view, access, False, 0) for view, access in zip(views, step.reads(), strict=True)
    ]
    touches += [Touch(view, None, False, 0) for view in step.whole]
    out = step.output
    touches.append(Touch(next(iter(instruction.writes())), out, True, 0))
    return touches
