"""Gradients in half precision become float32 where they are first read: in the optimizer's kernel.

Mixed precision makes each weight's gradient in half precision, and casts it to the weight's dtype at once. Cast where
the optimizer reads it, it is read as two bytes instead of being written and read as four.
"""

from __future__ import annotations

from bisect import bisect_right

from ..program.ir import Check, Instruction, Kind, Map, Program, View
from ..run.differentiable import is_cut
from .scalars import FLOAT32, is_half

_LARGE = 1 << 12  # elements


def in_time(program: Program) -> Program:
    """The program with such casts moved to just before the first instruction that touches their result."""
    instructions = program.instructions
    touched: dict[int, list[int]] = {}
    written: dict[int, list[int]] = {}
    stops = []
    for at, instruction in enumerate(instructions):
        if isinstance(instruction, Check) or is_cut(instruction):
            stops.append(at)
        for view in instruction.reads():
            touched.setdefault(view.buffer, []).append(at)
        for view in instruction.writes():
            touched.setdefault(view.buffer, []).append(at)
            written.setdefault(view.buffer, []).append(at)
    moved: dict[int, list[int]] = {}  # to before which instruction
    for at, instruction in enumerate(instructions):
        if not _widens(instruction, program):
            continue
        (source,) = instruction.reads()
        later = _next(touched[next(instruction.writes()).buffer], at)
        if later is None or later == at + 1 or not isinstance(instructions[later], Map):
            continue
        changes = [_next(places, at) for places in (written.get(source.buffer, []), stops)]
        if all(change is None or change > later for change in changes):
            moved.setdefault(later, []).append(at)
    gone = {at for places in moved.values() for at in places}
    order: list[int] = []
    for at in range(len(instructions)):
        order += moved.get(at, [])
        if at not in gone:
            order.append(at)
    return Program(
        program.buffers, [instructions[i] for i in order], [program.sites[i] for i in order]
    )


def _widens(instruction: Instruction, program: Program) -> bool:
    """Whether an instruction casts memory of the program's own from half precision to float32."""
    if not isinstance(instruction, Map) or instruction.function != "cast":
        return False
    (source,) = instruction.inputs
    if not isinstance(source, View) or not is_half(source.dtype) or source.size < _LARGE:
        return False
    own = program.buffers[source.buffer].kind is Kind.SCRATCH
    return own and instruction.output.dtype == FLOAT32


def _next(places: list[int], at: int) -> int | None:
    """The first of sorted numbers that is larger."""
    found = bisect_right(places, at)
    return places[found] if found < len(places) else None
