"""Which instructions share a kernel: those that depend on each other, or read the same memory.

What may share a nest is decided as for a CPU (`native.fusion`). Otherwise than there a launch costs little and
memory much, so steps that have nothing to do with each other stay apart; launches of the same kernel on
different memory are put together later (`together`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..ir import Instruction, Product
from ..native.fusion import Nest, Touch, touches_of
from ..native.steps import Step, step_of

FEW_ROWS = 32
FEW_STREAMS = 6  # of memory: what reads no more may share a kernel with what comes before it
SHORT = 12  # steps of a nest that has just begun
LONG = 1 << 18  # elements: of fewer rows than that several passes by one block each are too slow


def grouped(instructions: Sequence[Instruction], small_product: set[int]) -> list[Nest]:
    """Nests in the order in which they run. Products in `small_product` are loops, others stand alone."""
    nests: list[Nest] = []
    met: dict[int, list[tuple[int, Touch]]] = {}  # per buffer: nest and what it touched
    for number, instruction in enumerate(instructions):
        alone = isinstance(instruction, Product) and number not in small_product
        step = None if alone else step_of(number, instruction)
        touches = [Touch(v, None, False, 0) for v in instruction.reads()]
        touches += [Touch(v, None, True, 0) for v in instruction.writes()]
        last = _last_met(touches, met)
        place = -1 if step is None else _join(nests, last, step, instruction)
        if place < 0:
            place = len(nests)
            nests.append(_alone(number, step, instruction, touches))
        for touch in touches:
            met.setdefault(touch.view.buffer, []).append((place, touch))
    return nests


def _alone(number: int, step: Step | None, instruction: Instruction, touches: list[Touch]) -> Nest:
    if step is None:
        return Nest([number], touched=list(touches))
    nest = Nest([], step.dims, step.reduced)
    nest.add(step, touches_of(step, instruction))
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
    for place in range(max(last, 0), len(nests)):
        nest = nests[place]
        beside = place == len(nests) - 1 and _is_beginning(nest, step)
        if place != last and not beside and not _reads_the_same(nest, step):
            continue
        refused = _offered(nest, step, instruction)
        if refused is None:
            return place
        if place == last:
            nest.ended = refused
    return -1


def _offered(nest: Nest, step: Step, instruction: Instruction) -> str | None:
    """Offer a step to a nest; of few long rows, only while one pass over them is enough."""
    before = nest._state()
    refused = nest.offer(step, instruction)
    if refused is None and nest.reduced is not None and nest.passes > 1 and nest.size > LONG:
        kept = math.prod(n for n, r in zip(nest.dims, nest.reduced, strict=True) if not r)
        if kept < FEW_ROWS:
            nest._restore(before)
            return "another pass over a few long rows"
    return refused


def _is_beginning(nest: Nest, step: Step) -> bool:
    """Whether a nest has just begun, and a step that reads little could be for what comes next in it."""
    if not 0 < len(nest.steps) <= SHORT or nest.reduced is not None or step.reduced is not None:
        return False
    walking = [a for a in (*nest.read, *step.reads()) if a is not None and any(a.strides)]
    return nest.size == math.prod(step.dims) and len(walking) <= FEW_STREAMS


def _reads_the_same(nest: Nest, step: Step) -> bool:
    """Whether a step that does not depend on a nest reads the same memory, all of it."""
    if not nest.steps or nest.size != math.prod(step.dims):
        return False
    there = {(a.buffer, a.offset) for a in nest.read if a is not None and any(a.strides)}
    return any((a.buffer, a.offset) in there for a in step.reads() if any(a.strides))
