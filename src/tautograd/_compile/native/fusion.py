"""Which instructions share a loop nest.

Instructions are taken in their order. Each may join a nest that stands after everything it depends on,
if it runs over the same dimensions and meets the nest's memory element by element: what one iteration
writes, no other iteration reads or writes. A nest with a reduction has rows: its steps run for each
element, or once for each row, and what needs a row's sum waits for the next pass over that row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..ir import Instruction, View, span
from .dimensions import Factors, common, cut, cut_access, cut_step, factors
from .steps import Access, Step, spread, step_of

MOST_STEPS = 64
MOST_STREAMS = 24
FEW_STREAMS = 6
SMALL = 4096  # elements: below, joining saves more by having fewer nests than it costs
NEAR = 6  # nests: a large step joins none further back, where its result would wait in memory


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

    @property
    def size(self) -> int:
        return math.prod(self.dims)

    @property
    def passes(self) -> int:
        return max((s.time // 2 + 1 for s in self.steps if s.time >= 0), default=0)

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
        touches = touches_of(step, instruction)
        finer = any(len(sizes) > 1 for sizes in parts)

        def now(access: Access | None) -> Access | None:
            return cut_access(access, parts) if finer and access is not None else access

        made, read = self.made, self.read
        if finer:
            made, read = {now(a) for a in made}, {now(a) for a in read}
        more = {t.access for t in touches if not t.writes} - made - read
        if len(read) + len(more) > MOST_STREAMS:
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
        self._add(step, touches)
        return None

    def _fit(self, step: Step) -> tuple[Step, Factors] | None:
        """The step over the nest's dimensions, and how these have to be cut for it (not at all: [])."""
        if step.dims == self.dims and (
            step.reduced is None or self.reduced in (None, step.reduced)
        ):
            return step, []
        if math.prod(step.dims) == self.size:
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
        if math.prod(step.dims) != math.prod(kept):
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

    def _add(self, step: Step, touches: list[Touch]) -> None:
        for touch in touches:
            touch.time = step.written_at if touch.writes else step.time
            self.of_buffer.setdefault(touch.view.buffer, []).append(touch)
            if touch.writes:
                self.made.add(touch.access)
            elif touch.access not in self.made:
                self.read.add(touch.access)
        self.touched.extend(touches)
        self.steps.append(step)
        self.instructions.append(step.number)
        self.reduced = self.reduced or step.reduced


def touches_of(step: Step, instruction: Instruction) -> list[Touch]:
    views = list(instruction.reads())[len(step.whole) :]
    touches = [
        Touch(view, access, False, 0) for view, access in zip(views, step.reads(), strict=True)
    ]
    touches += [Touch(view, None, False, 0) for view in step.whole]
    out = step.output
    touches.append(Touch(next(iter(instruction.writes())), out, True, 0))
    return touches


def group(instructions: Sequence[Instruction], small_product: set[int]) -> list[Nest]:
    """Nests in the order in which they run. Products in `small_product` are loops, others stand alone."""
    from ..ir import Product

    nests: list[Nest] = []
    met: dict[int, list[tuple[int, Touch]]] = {}  # per buffer: nest and what it touched
    for number, instruction in enumerate(instructions):
        if isinstance(instruction, Product) and number not in small_product:
            step = None
        else:
            step = step_of(number, instruction)
        touches = [Touch(v, None, False, 0) for v in instruction.reads()]
        touches += [Touch(v, None, True, 0) for v in instruction.writes()]
        last = _last_met(touches, met)
        place = _join(nests, last, step, instruction) if step is not None else -1
        if place < 0:
            place = len(nests)
            nests.append(_alone(number, step, instruction))
        for touch in touches:
            met.setdefault(touch.view.buffer, []).append((place, touch))
    return nests


def _alone(number: int, step: Step | None, instruction: Instruction) -> Nest:
    if step is None:
        nest = Nest([number])
        nest.touched = [Touch(v, None, False, 0) for v in instruction.reads()]
        nest.touched += [Touch(v, None, True, 0) for v in instruction.writes()]
        return nest
    nest = Nest([], step.dims, step.reduced)
    nest._add(step, touches_of(step, instruction))
    return nest


def _last_met(touches: list[Touch], met: dict[int, list[tuple[int, Touch]]]) -> int:
    """The latest nest that an instruction has to come after (or be in); -1 if none."""
    last = -1
    for touch in touches:
        for place, other in met.get(touch.view.buffer, ()):
            if place > last and touch.meets(other):
                last = place
    return last


def _join(nests: list[Nest], last: int, step: Step, instruction: Instruction) -> int:
    """The nest that takes the step, or -1."""
    size = math.prod(step.dims)
    for place in range(max(last, 0), len(nests)):
        nest = nests[place]
        if size > SMALL and place < len(nests) - NEAR:
            continue
        beside = place == len(nests) - 1
        if place != last and not _worth_joining(nest, step, size, beside):
            continue
        refused = nest.offer(step, instruction)
        if refused is None:
            return place
        if place == last:
            nest.ended = refused
    return -1


def _worth_joining(nest: Nest, step: Step, size: int, beside: bool) -> bool:
    """Whether a step that does not depend on a nest gains by being in it.

    The very next one may, if little memory is read: what follows often needs the results of both.
    """
    if not nest.steps or nest.size != size:
        return False
    if nest.reduced is None and step.reduced is None:
        few = len(nest.read) + len(list(step.reads())) <= FEW_STREAMS
        if size <= SMALL or (beside and few):
            return True
    there = {(a.buffer, a.offset) for a in nest.read if a is not None}
    return any((access.buffer, access.offset) in there for access in step.reads())
