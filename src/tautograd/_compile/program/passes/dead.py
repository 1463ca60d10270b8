"""Dead code: an instruction whose results nobody sees need not happen."""

from __future__ import annotations

from ..ir import Call, Check, Kind, Program


def without_dead_code(program: Program) -> Program:
    """Keep what writes memory that is seen afterwards, directly or through others."""
    live = {
        b.number for b in program.buffers if b.kind in (Kind.EXTERNAL, Kind.ARGUMENT, Kind.KEPT)
    }
    kept = []
    for i in range(len(program.instructions) - 1, -1, -1):
        instruction = program.instructions[i]
        acts = isinstance(instruction, Check) or (
            isinstance(instruction, Call) and instruction.effect
        )
        if acts or any(view.buffer in live for view in instruction.writes()):
            live.update(view.buffer for view in instruction.reads())
            kept.append(i)
    kept.reverse()
    instructions = [program.instructions[i] for i in kept]
    return Program(program.buffers, instructions, [program.sites[i] for i in kept])
