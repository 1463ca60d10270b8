"""Which instructions share a loop nest.

Instructions are taken in their order. Each may join a nest that stands after everything it depends on,
if it runs over the same dimensions and meets the nest's memory element by element: what one iteration
writes, no other iteration reads or writes. A nest with a reduction has rows: its steps run for each
element, or once for each row, and what needs a row's sum waits for the next pass over that row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..ir import Buffer, Instruction, Kind, View, overlap, span
from .steps import Access, Step, spread, step_of

MOST_STEPS = 64
MOST_STREAMS = 24
SMALL = 4096  # elements: below, joining saves more by having fewer nests than it costs


@dataclass(slots=True)
class Touch:
    """Memory that a nest reads or writes, and when."""

    view: View
    access: Access | None  # None: in no fixed order
    writes: bool
    time: int


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
        count = 1
        for n in self.dims:
            count *= n
        return count

    @property
    def passes(self) -> int:
        return max((s.time // 2 + 1 for s in self.steps if s.time >= 0), default=0)

    def kept_dims(self) -> tuple[int, ...]:
        assert self.reduced is not None
        return tuple(n for n, r in zip(self.dims, self.reduced, strict=True) if not r)

    def offer(self, step: Step, instruction: Instruction) -> str | None:
        """Take a step in; or say why it cannot be."""
        if not self.steps:
            return "a kernel by itself"
        if len(self.steps) >= MOST_STEPS:
            return "the nest is full"
        agrees = step.reduced is None or self.reduced in (None, step.reduced)
        if step.dims == self.dims and agrees:
            pass
        elif self.reduced is not None and step.reduced is None and step.dims == self.kept_dims():
            step = spread(step, self.reduced)
        else:
            return "other dimensions"
        touches = touches_of(step, instruction)
        more = {t.access for t in touches if not t.writes} - self.made - self.read
        if len(self.read) + len(more) > MOST_STREAMS:
            return "too much memory at once"
        time = 0 if step.full else -1
        for new_touch in touches:
            for old in self.of_buffer.get(new_touch.view.buffer, ()):
                if not (new_touch.writes or old.writes) or not overlap(new_touch.view, old.view):
                    continue
                if new_touch.access is None or new_touch.access != old.access:
                    return "it meets the same memory in another order"
                time = max(time, old.time)
        if (time % 2 == 0) != step.full:
            time += 1
        step.time = time
        self._add(step, touches)
        return None

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
    met: dict[int, list[tuple[int, View, bool]]] = {}  # per buffer: nest, view, writes
    for number, instruction in enumerate(instructions):
        if isinstance(instruction, Product) and number not in small_product:
            step = None
        else:
            step = step_of(number, instruction)
        last = _last_met(instruction, met)
        place = _join(nests, last, step, instruction) if step is not None else -1
        if place < 0:
            place = len(nests)
            nests.append(_alone(number, step, instruction))
        for view in instruction.reads():
            met.setdefault(view.buffer, []).append((place, view, False))
        for view in instruction.writes():
            met.setdefault(view.buffer, []).append((place, view, True))
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


def _last_met(instruction: Instruction, met: dict[int, list[tuple[int, View, bool]]]) -> int:
    """The latest nest that the instruction has to come after (or be in); -1 if none."""
    last = -1
    for views, writing in ((instruction.reads(), False), (instruction.writes(), True)):
        for view in views:
            for place, other, wrote in met.get(view.buffer, ()):
                if place > last and (writing or wrote) and overlap(view, other):
                    last = place
    return last


def _join(nests: list[Nest], last: int, step: Step, instruction: Instruction) -> int:
    """The nest that takes the step, or -1."""
    for place in range(max(last, 0), len(nests)):
        nest = nests[place]
        if place != last and not _worth_joining(nest, step):
            continue
        refused = nest.offer(step, instruction)
        if refused is None:
            return place
        if place == last:
            nest.ended = refused
    return -1


def _worth_joining(nest: Nest, step: Step) -> bool:
    """Whether a step that does not depend on a nest gains by being in it."""
    if not nest.steps or nest.dims != step.dims:
        return False
    if nest.size <= SMALL and nest.reduced is None and step.reduced is None:
        return True
    there = {t.access for t in nest.touched}
    return any(access in there for access in step.reads())


def elide(nests: Sequence[Nest], buffers: dict[int, Buffer], needed: Iterable[int]) -> None:
    """Leave out the stores of what is read only in registers."""
    needed = set(needed)
    readers: dict[int, list[tuple[int, Touch]]] = {}
    for place, nest in enumerate(nests):
        for touch in nest.touched:
            readers.setdefault(touch.view.buffer, []).append((place, touch))
    for place, nest in enumerate(nests):
        for step in nest.steps:
            number = step.output.buffer
            if buffers[number].kind is not Kind.SCRATCH or number in needed:
                continue
            step.stored = _is_read(place, step, readers[number])


def _is_read(place: int, step: Step, touches: list[tuple[int, Touch]]) -> bool:
    """Whether anything reads from memory what a step writes."""
    view = next(t.view for p, t in touches if p == place and t.access == step.output and t.writes)
    for where, touch in touches:
        if where < place or not overlap(touch.view, view):
            continue
        if where > place:
            if not touch.writes:
                return True
            if touch.view == view and touch.view.is_contiguous():
                return False
        elif (
            not touch.writes
            and touch.time > step.written_at
            and (step.full and step.reduced is None)
        ):
            return True  # another pass over the row reads it again
    return False


def covers(view: View) -> bool:
    """Whether no two of a view's elements share memory."""
    low, high = span(view)
    if high - low == view.dtype.itemsize * view.size:
        return True
    steps = sorted((abs(s), n) for s, n in zip(view.strides, view.shape, strict=True) if n > 1)
    reach = view.dtype.itemsize
    for stride, n in steps:
        if stride < reach:
            return False
        reach = stride * (n - 1) + reach
    return True
