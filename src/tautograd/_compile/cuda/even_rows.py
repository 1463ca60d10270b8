"""Matrices of half precision whose rows have an odd length get room at the end of each row.

Tensor cores read sixteen bytes at once: a product of matrices whose rows begin at other places takes twice as long, and
copies with room cost more than nothing. The program's own memory can have that room from the start (the scores of a
vocabulary of 50,257 words, and their gradients).
"""

from __future__ import annotations

from dataclasses import replace

from ..._arrays.cuda.gemm import Gemm
from ..native.fusion.normalise import leading
from ..program.ir import Buffer, Call, Instruction, Kind, Product, Program, View, rewritten
from .scalars import is_half

_AT_ONCE = 16  # bytes


def with_even_rows(program: Program, elsewhere: frozenset[int]) -> Program:
    """The program with room after rows of an odd length that large products read or write."""
    wanted: dict[int, int] = {}  # for each buffer the bytes of a row
    for instruction in program.instructions:
        if isinstance(instruction, Product) and instruction.bias is None:
            wanted.update(_rows_of(instruction))
    for number in list(wanted):
        buffer = program.buffers[number]
        own = buffer.kind is Kind.SCRATCH and number not in elsewhere
        if not own or buffer.nbytes % wanted[number]:
            del wanted[number]
    if not wanted:
        return program
    for instruction in program.instructions:
        for view in (*instruction.reads(), *instruction.writes()):
            row = wanted.get(view.buffer)
            if row is not None and not (_takes_rows(instruction) and _is_of_rows(view, row)):
                del wanted[view.buffer]

    def roomy(view: View) -> View:
        row = wanted.get(view.buffer)
        if row is None:
            return view
        more = _even(row)
        strides = [s if s < row else s // row * more for s in view.strides]
        return replace(view, offset=view.offset // row * more, strides=tuple(strides))

    buffers = [
        Buffer(b.number, b.nbytes // wanted[b.number] * _even(wanted[b.number]), b.kind, b.array)
        if b.number in wanted
        else b
        for b in program.buffers
    ]
    return Program(buffers, [rewritten(i, roomy) for i in program.instructions], program.sites)


def _rows_of(product: Product) -> dict[int, int]:
    """The bytes of a row of each matrix that has an odd length, in a product for which that matters."""
    found: dict[int, int] = {}
    out = product.output
    if is_half(out.dtype) and out.ndim == 2 and out.size * product.left.shape[-1] >= Gemm.pads_from:
        for view in (product.left, product.right, out):
            lead = leading(view)
            if lead is not None and lead[1] * view.dtype.itemsize % _AT_ONCE:
                found[view.buffer] = lead[1] * int(view.dtype.itemsize)
    return found


def _takes_rows(instruction: Instruction) -> bool:
    """Whether an instruction does not mind that rows are apart."""
    return not isinstance(instruction, Call) or getattr(instruction.function, "takes_rows", False)


def _is_of_rows(view: View, row: int) -> bool:
    """Whether a view shows whole rows of its buffer."""
    whole = 0
    for n, stride in zip(view.shape, view.strides, strict=True):
        if n == 1 and stride < row:
            continue
        if stride == view.dtype.itemsize and n * stride == row:
            whole += 1
        elif stride < row or stride % row:
            return False
    return whole == 1 and view.offset % row == 0


def _even(row: int) -> int:
    return -(-row // _AT_ONCE) * _AT_ONCE
