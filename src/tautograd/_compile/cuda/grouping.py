"""Which instructions share a kernel: those that depend on each other, or read the same memory.

What may share a nest, and which values are cheap enough to be computed again where they are read, is decided as
for a CPU (`native.grouping`). Otherwise than there steps that have nothing to do with each other stay apart:
launches of the same kernel on different memory are put together later (`together`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ..native.fusion.grouping import SMALL
from ..native.fusion.grouping import _Grouping as Grouping
from ..native.fusion.liveness import elide
from ..native.fusion.nests import Nest
from ..native.fusion.normalise import Normal
from ..native.fusion.steps import Access, Step
from ..program.ir import Instruction

FEW_ROWS = 32
# Rows that do not fill a GPU with a block each, if each is long: a sum is then cut into parts, in a kernel of its own.
FEW_LONG_ROWS = 256
FEW_STREAMS = 6  # of memory: what reads no more may share a kernel with what comes before it
NEAR = 3  # nests: a large result joins none further back, where it would wait in memory until it is read
SHORT = 12  # steps of a nest that has just begun
LONG = 1 << 14  # elements: of fewer rows than that several passes by one block each are too slow


def grouped(normal: Normal, needed: Iterable[int]) -> list[Nest]:
    """Nests in the order in which they run; what is read only in registers is not stored."""
    grouping = OnGpu(normal, frozenset(needed))
    for number in range(len(normal.instructions)):
        grouping.take(number)
    return elide(grouping.nests, normal.buffers, needed)


class OnGpu(Grouping):
    """Nests as they grow."""

    def _join(self, last: int, steps: list[Step], instructions: Sequence[Instruction]) -> int:
        nests = self.nests
        made = {s.output for s in steps}
        read = [a for s in steps for a in s.reads() if a not in made]
        first = max(last, 0)
        if steps[-1].reduced is None and math.prod(steps[-1].dims) > SMALL:
            first = max(first, len(nests) - NEAR)
        for place in range(first, len(nests)):
            nest = nests[place]
            beside = place == len(nests) - 1 and _is_beginning(nest, steps[-1], read)
            if place != last and not beside and not _reads_the_same(nest, steps[-1], read):
                continue
            refused = _offered(nest, steps, instructions)
            if refused is None:
                return place
            if place == last:
                nest.ended = refused
        return -1


def _offered(nest: Nest, steps: list[Step], instructions: Sequence[Instruction]) -> str | None:
    """Offer steps to a nest; of few long rows, only while one pass over them is enough."""
    before = nest._state()
    refused = nest.offer_all(steps, instructions)
    if refused is None and nest.reduced is not None and nest.passes > 1 and nest.size > LONG:
        kept = math.prod(n for n, r in zip(nest.dims, nest.reduced, strict=True) if not r)
        if kept < FEW_ROWS or (kept < FEW_LONG_ROWS and nest.size > kept * LONG):
            nest._restore(before)
            return "another pass over a few long rows"
    return refused


def _is_beginning(nest: Nest, step: Step, read: list[Access]) -> bool:
    """Whether a nest has just begun, and a step that reads little could be for what comes next in it."""
    if not 0 < len(nest.steps) <= SHORT or nest.reduced is not None or step.reduced is not None:
        return False
    walking = [a for a in (*nest.read, *read) if a is not None and any(a.strides)]
    return nest.size == math.prod(step.dims) and len(walking) <= FEW_STREAMS


def _reads_the_same(nest: Nest, step: Step, read: list[Access]) -> bool:
    """Whether a step that does not depend on a nest reads the same memory, all of it."""
    if not nest.steps or nest.size != math.prod(step.dims):
        return False
    there = {(a.buffer, a.offset) for a in nest.read if a is not None and any(a.strides)}
    return any((a.buffer, a.offset) in there for a in read if any(a.strides))
