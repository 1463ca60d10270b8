"""Copies that need not be: what is computed only to be copied is computed where it belongs."""

from __future__ import annotations

from typing import Any

from ..ir import Call, Instruction, Kind, Map, Program, View, overlap, rewritten


def forward_copies(program: Program) -> Program:
    """Rename memory that is copied as a whole to the place it is copied to, where nobody would notice."""
    instructions: list[Instruction | None] = list(program.instructions)
    uses: dict[int, list[int]] = {}
    for i, instruction in enumerate(program.instructions):
        for view in (*instruction.reads(), *instruction.writes()):
            places = uses.setdefault(view.buffer, [])
            if not places or places[-1] != i:
                places.append(i)
    cuts = [i for i, found in enumerate(instructions) if isinstance(found, Call) and found.effect]
    for i in range(len(instructions)):
        copy = instructions[i]
        if copy is None or not _is_plain_copy(program, copy):
            continue
        assert isinstance(copy, Map)
        source, target = copy.inputs[0], copy.output
        assert isinstance(source, View)
        at = uses[source.buffer]
        if any(at[0] < cut < at[-1] for cut in cuts):
            continue  # the stretches of a program run at different times
        if not _unnoticed(instructions, uses, source, target, i):
            continue
        for j in at:
            found = instructions[j]
            if found is not None:
                instructions[j] = renamed(found, source, target)
        instructions[i] = None
        uses[target.buffer] = sorted({*uses[target.buffer], *uses.pop(source.buffer)} - {i})
    kept = [i for i, instruction in enumerate(instructions) if instruction is not None]
    return Program(
        program.buffers,
        [found for found in instructions if found is not None],
        [program.sites[i] for i in kept],
    )


def _is_plain_copy(program: Program, instruction: Instruction) -> bool:
    """Whether all of a scratch buffer is copied as it lies in memory."""
    if not isinstance(instruction, Map) or instruction.function != "cast":
        return False
    source, target = instruction.inputs[0], instruction.output
    if not isinstance(source, View) or source.dtype != target.dtype or not target.size:
        return False
    buffer = program.buffers[source.buffer]
    if buffer.kind is not Kind.SCRATCH or source.size * source.dtype.itemsize != buffer.nbytes:
        return False
    steps = zip(source.shape, source.strides, target.strides, strict=True)
    return source.offset == 0 and all(n == 1 or a == b for n, a, b in steps)


def _unnoticed(
    instructions: list[Instruction | None],
    uses: dict[int, list[int]],
    source: View,
    target: View,
    copy: int,
) -> bool:
    """Whether nobody reads the old content of the target, or changes it, in the meantime."""
    of_source = [i for i in uses[source.buffer] if instructions[i] is not None]
    first, last = of_source[0], of_source[-1]
    for i in of_source:
        found = instructions[i]
        assert found is not None
        if i > copy and any(view.buffer == source.buffer for view in found.writes()):
            return False
    for i in uses[target.buffer]:
        found = instructions[i]
        if found is None or i == copy or i < first or i > last:
            continue
        touching = [v for v in found.writes() if overlap(v, target)]
        reading = [v for v in found.reads() if overlap(v, target)]
        if i > copy:
            if touching:
                return False
            continue
        if touching:
            return False
        if reading and not (i == first and _elementwise(found, source, target, reading)):
            return False
    return True


def _elementwise(instruction: Instruction, source: View, target: View, reading: list[View]) -> bool:
    """Whether each element is read where, and before, it is written."""
    if not isinstance(instruction, Map) or instruction.output.buffer != source.buffer:
        return False
    moved = _moved(instruction.output, source, target)
    return all(view == moved for view in reading)


def _moved(view: View, source: View, target: View) -> View:
    return view.moved(target.buffer, view.offset - source.offset + target.offset)


def renamed(instruction: Any, source: View, target: View) -> Any:
    """An instruction with one buffer's views put elsewhere."""

    def change(view: View) -> View:
        return _moved(view, source, target) if view.buffer == source.buffer else view

    return rewritten(instruction, change)
