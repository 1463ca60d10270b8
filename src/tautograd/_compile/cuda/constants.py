"""What is the same at every run is computed once: the recording has done it, and its memory is kept.

The gradient that a backward pass starts from is one number, and so is what is made of it and of other
constants. On a GPU each would be a launch.
"""

from __future__ import annotations

from collections import Counter

from ..._arrays.cuda.cuda_array import CudaArray
from ..program.ir import Buffer, Gather, GatherAlong, Instruction, Kind, Map, Program, Reduce

MOST = 1 << 16  # bytes: what is larger is computed again, and its memory shared


def folded(program: Program) -> Program:
    """The program without instructions that compute constants; their buffers are constants."""
    writers = Counter(view.buffer for i in program.instructions for view in i.writes())
    buffers = list(program.buffers)
    kept, sites = [], []
    for instruction, site in zip(program.instructions, program.sites, strict=True):
        if _is_constant(instruction, buffers, writers):
            number = next(instruction.writes()).buffer
            old = buffers[number]
            buffers[number] = Buffer(number, old.nbytes, Kind.CONSTANT, old.array)
        else:
            kept.append(instruction)
            sites.append(site)
    return Program(buffers, kept, sites)


def _is_constant(instruction: Instruction, buffers: list[Buffer], writers: Counter[int]) -> bool:
    """Whether an instruction alone writes a buffer of the program's own, from constants."""
    if not isinstance(instruction, (Map, Reduce, Gather, GatherAlong)):
        return False
    out = buffers[instruction.output.buffer]
    own = out.kind is Kind.SCRATCH and writers[out.number] == 1 and out.nbytes <= MOST
    if not own or type(out.array) is not CudaArray:
        return False
    return all(buffers[view.buffer].kind is Kind.CONSTANT for view in instruction.reads())
