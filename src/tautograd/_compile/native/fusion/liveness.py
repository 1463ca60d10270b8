"""Which results are read from memory: the others stay in registers, and what nobody reads is not computed."""

from __future__ import annotations

from collections.abc import Iterable

from ...program.ir import CHECK, Buffer, Kind, View, span
from .nests import Nest, Touch
from .steps import Access, Step

UNREAD = -2  # the time of a step that is left out


def elide(nests: list[Nest], buffers: dict[int, Buffer], needed: Iterable[int]) -> list[Nest]:
    """Leave out the stores of what is read only in registers, and the steps that nobody reads."""
    needed = set(needed)
    touches: dict[int, list[tuple[int, Touch]]] = {}
    for place, nest in enumerate(nests):
        for touch in nest.touched:
            touches.setdefault(touch.view.buffer, []).append((place, touch))
    for place, nest in enumerate(nests):
        for step in nest.steps:
            number = step.output.buffer
            if buffers[number].kind is Kind.SCRATCH and number not in needed:
                step.stored = _is_read(place, step, touches[number])
        _drop_unread(nest)
    return [nest for nest in nests if nest.steps or not nest.of_buffer]


def _drop_unread(nest: Nest) -> None:
    wanted: set[Access] = set()
    for step in reversed(nest.steps):
        if step.stored or step.output in wanted or step.function == CHECK:
            wanted.update(step.reads())
        else:
            step.time = UNREAD
    nest.steps = [step for step in nest.steps if step.time != UNREAD]


def _is_read(place: int, step: Step, touches: list[tuple[int, Touch]]) -> bool:
    """Whether anything reads from memory what a step writes."""
    mine = next(t for p, t in touches if p == place and t.access == step.output and t.writes)
    for where, touch in touches:
        if where < place or not mine.meets(touch):
            continue
        if where > place:
            if not touch.writes:
                return True
            if touch.view == mine.view and touch.view.is_contiguous():
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
