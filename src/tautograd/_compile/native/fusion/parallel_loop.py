"""Which loop of a nest is split over threads, if it has enough to do."""

from __future__ import annotations

from ...dynamic.size import example
from ..llvm import vector_math
from .loop_order import Layout
from .nests import Nest

WORTH_SHARING = 1 << 20  # simple operations on numbers: some forty microseconds
_HEAVY = 10  # simple operations that a function of `vector_math` costs
_BLOCK = 32  # vectors of a split row


def work_of(nest: Nest) -> int:
    """Simple operations, roughly, and numbers that are read and written."""
    each = len(nest.read)
    for step in nest.steps:
        if step.full:
            each += _HEAVY if step.function in vector_math.RULES else 1
            each += step.stored
    return int(example(nest.size)) * each


def split(nest: Nest, layout: Layout) -> tuple[int | None, int, int]:
    """The dimension to split (None: no splitting), in units of how many, and how many units there are."""
    if work_of(nest) < WORTH_SHARING:
        return None, 1, 0
    rows = [d for d in layout.outer if d != layout.vector]
    if rows:
        largest = max(rows, key=lambda d: int(example(layout.sizes[d])))
        d = rows[0] if example(layout.sizes[rows[0]]) >= 8 else largest
        if layout.sizes[d] > 1 and (example(layout.sizes[d]) >= 8 or not layout.across):
            layout.outer.remove(d)
            layout.outer.insert(0, d)
            return d, 1, layout.sizes[d]
    if rows or (nest.reduced is not None and not layout.across):
        return None, 1, 0
    unit = layout.lanes * (1 if layout.across else _BLOCK)
    units = -(-layout.sizes[layout.vector] // unit)
    return (layout.vector, unit, units) if example(units) > 1 else (None, 1, 0)
