"""How a nest is spread over a GPU: threads for each row, rows for each block, parts of a long row."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..native.fusion.loop_order import Layout
from ..native.fusion.nests import Nest

WIDE = 32  # results side by side that a block reduces at once
FULL = 1 << 17  # threads that keep a GPU busy
WAITING = 1 << 18  # threads that do so where each waits for memory most of the time
MOST_PARTS = 512
EACH = 4  # elements that one thread adds up before it is worth asking for more threads


@dataclass(slots=True)
class Shape:
    """A grid: `wide` rows side by side, `threads` for each, `groups` of such in a block, a row in `parts`."""

    rows: int
    width: int
    wide: int
    threads: int
    groups: int
    parts: int

    @property
    def block(self) -> int:
        return self.wide * self.threads * self.groups

    @property
    def grid(self) -> int:
        """Blocks for all rows, without counting the parts of one."""
        return -(-self.rows // (self.wide * self.groups))


def power_of_two(n: int) -> int:
    """The least power of two that is not below n."""
    return 1 << max(n - 1, 0).bit_length()


def shape_of_rows(nest: Nest, layout: Layout) -> Shape:
    """The grid of a nest that reduces."""
    rows = math.prod(layout.sizes[d] for d in layout.outer)
    width = math.prod(layout.sizes[d] for d in layout.inner)
    one_pass = nest.passes == 1 and not any(s.time < 0 and s.stored for s in nest.steps)
    if layout.across and rows >= WIDE:
        threads = min(power_of_two(-(-width // EACH)), 8 if one_pass else 32)
        blocks = -(-rows // WIDE)
        parts = _parts(width, threads, blocks * WIDE * threads, WAITING) if one_pass else 1
        return Shape(rows, width, WIDE, threads, 1, parts)
    threads = min(power_of_two(-(-width // 4)), 1024)
    while threads > 32 and rows * threads > FULL:
        threads //= 2
    if threads > 32:
        parts = _parts(width, threads, rows * threads, FULL) if one_pass else 1
        return Shape(rows, width, 1, threads, 1, parts)
    groups = min(128 // threads, power_of_two(-(-rows // 132)), power_of_two(rows))
    groups = max(groups, 32 // threads)  # whole warps
    return Shape(rows, width, 1, threads, groups, 1)


def _parts(width: int, threads: int, all_threads: int, wanted: int) -> int:
    """In how many parts rows are cut, so that all of the GPU has something to do."""
    return max(1, min(-(-width // (threads * EACH)), wanted // all_threads, MOST_PARTS))
