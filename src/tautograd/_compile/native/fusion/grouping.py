"""The order of nests, and which instruction goes where.

Instructions are taken in their order. Each joins a nest that stands after everything it depends on, with
what waits to be computed for it (`deferred.py`), or begins a new one at the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ...dynamic.size import example, same
from ...program.ir import Instruction, Product
from .deferred import Waiting
from .liveness import elide
from .nests import Nest, Touch, touches_of
from .normalise import Normal
from .rematerialise import Again
from .steps import Access, Step, step_of

FEW_STREAMS = 6
SMALL = 4096  # elements: below, joining saves more by having fewer nests than it costs
NEAR = 6  # nests: a large step joins none further back, where its result would wait in memory


def nests_of(normal: Normal, needed: Iterable[int]) -> list[Nest]:
    """Nests in the order in which they run; what is read only in registers is not stored."""
    grouping = _Grouping(normal, frozenset(needed))
    for number in range(len(normal.instructions)):
        grouping.take(number)
    return elide(grouping.nests, normal.buffers, needed)


class _Grouping:
    """Nests as they grow."""

    def __init__(self, normal: Normal, needed: frozenset[int]) -> None:
        self.normal = normal
        self.waiting = Waiting(normal, needed)
        self.again = Again(normal, self.waiting)
        self.nests: list[Nest] = []
        self.met: dict[int, list[tuple[int, Touch]]] = {}  # per buffer: nest and what it touched
        self.made_in: dict[int, int] = {}  # per buffer: the nest of loops that wrote it

    def take(self, number: int) -> None:
        for view in self.normal.instructions[number].reads():
            if view.buffer not in self.waiting.at:
                self.again.revive(view.buffer, number, len(self.nests))
        for buffer in self.waiting.overwritten_by(number):
            self._store(buffer)
        self.again.note(number)
        if not self.waiting.take(number):
            self._with_chain(number)

    def _store(self, buffer: int) -> None:
        """Place an instruction that was put off, so that its result is in memory."""
        if buffer in self.waiting.at:
            self._with_chain(self.waiting.forget(buffer))

    def _with_chain(self, number: int) -> None:
        """Place an instruction together with what waits for it; or after that, if it cannot be together."""
        waits = self.waiting.read_by(self.normal.instructions[number])
        if waits:
            chain = self.waiting.with_reader(number, self.made_in)
            if chain is not None and self._place_together(chain, number):
                return
            for buffer in waits:
                self._store(buffer)
        self._place([number])

    def _place_together(self, chain: list[int], number: int) -> bool:
        before = self.normal.instructions[number]
        unit = [*self.waiting.copies(chain, number), number]
        if self._place(unit):
            return True
        self.normal.instructions[number] = before
        return False

    def _place(self, unit: list[int]) -> bool:
        """Put instructions into one nest, in order; False if they cannot be in one."""
        instructions = [self.normal.instructions[n] for n in unit]
        steps = [self._step(n, i) for n, i in zip(unit, instructions, strict=True)]
        touches = [t for i in instructions for t in _touches(i)]
        last = self._last_met(touches)
        if len(unit) == 1 and steps[0] is None:
            place = len(self.nests)
            nest = Nest(list(unit))
            nest.touched = list(touches)
            self.nests.append(nest)
        else:
            loops = [s for s in steps if s is not None]
            if len(loops) != len(steps):
                return False
            place = self._join(last, loops, instructions)
            if place < 0:
                begun = _begun(loops, instructions)
                if begun is None:
                    return False
                place = len(self.nests)
                self.nests.append(begun)
        self.again.stored(unit[-1], place)
        for touch in touches:
            self.met.setdefault(touch.view.buffer, []).append((place, touch))
            if touch.writes and steps[0] is not None:
                self.made_in[touch.view.buffer] = place
        return True

    def _step(self, number: int, instruction: Instruction) -> Step | None:
        if isinstance(instruction, Product) and number not in self.normal.small:
            return None
        return step_of(number, instruction)

    def _last_met(self, touches: list[Touch]) -> int:
        """The latest nest that instructions have to come after (or be in); -1 if none."""
        last = -1
        for touch in touches:
            for place, other in self.met.get(touch.view.buffer, ()):
                if place > last and touch.meets(other):
                    last = place
        return last

    def _join(self, last: int, steps: list[Step], instructions: Sequence[Instruction]) -> int:
        """The nest that takes the steps, or -1."""
        nests = self.nests
        size = math.prod(steps[-1].dims)
        for place in range(max(last, 0), len(nests)):
            nest = nests[place]
            if example(size) > SMALL and place < len(nests) - NEAR:
                continue
            beside = place == len(nests) - 1
            if place != last and not _worth_joining(nest, steps, size, beside):
                continue
            refused = nest.offer_all(steps, instructions)
            if refused is None:
                return place
            if place == last:
                nest.ended = refused
        return -1


def _touches(instruction: Instruction) -> list[Touch]:
    touches = [Touch(v, None, False, 0) for v in instruction.reads()]
    return touches + [Touch(v, None, True, 0) for v in instruction.writes()]


def _begun(steps: list[Step], instructions: Sequence[Instruction]) -> Nest | None:
    """A nest of its own; None if the steps cannot be in one."""
    nest = Nest([], steps[0].dims, steps[0].reduced)
    nest.add(steps[0], touches_of(steps[0], instructions[0]))
    if len(steps) > 1 and nest.offer_all(steps[1:], instructions[1:]) is not None:
        return None
    return nest


def _worth_joining(nest: Nest, steps: list[Step], size: int, beside: bool) -> bool:
    """Whether steps that do not depend on a nest gain by being in it.

    The very next ones may, if little memory is read: what follows often needs the results of both.
    """
    if not nest.steps or not same(nest.size, size):
        return False
    made = {s.output for s in steps}
    read = {a for s in steps for a in s.reads() if a not in made}
    if nest.reduced is None and steps[-1].reduced is None:
        few = _walking(nest.read) + _walking(read) <= FEW_STREAMS
        if example(size) <= SMALL or (beside and few):
            return True
    there = {(a.buffer, a.offset) for a in nest.read if a is not None}
    return any((access.buffer, access.offset) in there for access in read)


def _walking(accesses: Iterable[Access | None]) -> int:
    """How many streams of memory there are: what is the same number throughout is none."""
    return sum(a is None or any(a.strides) for a in accesses)
