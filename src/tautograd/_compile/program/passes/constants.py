"""Memory that is filled with one number and only read afterwards: its readers take the number itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..ir import Kind, Map, Number, Operand, Program, View


def spread_constants(program: Program) -> Program:
    """Put the number in place of the view in every elementwise instruction that reads it."""
    writers = Counter(view.buffer for i in program.instructions for view in i.writes())
    filled: dict[int, Number] = {}
    instructions = []
    for instruction in program.instructions:
        if isinstance(instruction, Map):
            found = _fill(program, instruction)
            if found is not None and writers[instruction.output.buffer] == 1:
                filled[instruction.output.buffer] = found
            elif any(isinstance(x, View) and x.buffer in filled for x in instruction.inputs):
                inputs = tuple(_number(x, filled) for x in instruction.inputs)
                instruction = replace(instruction, inputs=inputs)
        instructions.append(instruction)
    return Program(program.buffers, instructions, program.sites)


def _fill(program: Program, instruction: Map) -> Number | None:
    """The number that all of a buffer is set to."""
    if instruction.function != "cast" or len(instruction.inputs) != 1:
        return None
    (number,) = instruction.inputs
    target = instruction.output
    buffer = program.buffers[target.buffer]
    whole = target.size * target.dtype.itemsize == buffer.nbytes
    if isinstance(number, Number) and whole and buffer.kind is Kind.SCRATCH:
        return Number(number.value.astype(target.dtype))
    return None


def _number(operand: Operand, filled: dict[int, Number]) -> Operand:
    if isinstance(operand, View) and operand.buffer in filled:
        number = filled[operand.buffer]
        if number.value.dtype == operand.dtype:
            return number
    return operand
