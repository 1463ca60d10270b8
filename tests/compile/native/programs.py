"""Programs built by hand over NumPy arrays, what NumPy makes of them, and the two compared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tautograd._compile.native import Native, lower
from tautograd._compile.program import ir

SPECIAL = {"cast": None, "where": np.where}


class Builder:
    """Buffers with their arrays, and instructions that read and write views of them."""

    def __init__(self) -> None:
        self.buffers: list[ir.Buffer] = []
        self.bases: list[np.ndarray] = []
        self.instructions: list[ir.Instruction] = []

    def view(self, array: np.ndarray, kind: ir.Kind = ir.Kind.EXTERNAL) -> ir.View:
        """A new buffer with a copy of an array's elements (in rows)."""
        base = np.ascontiguousarray(array).reshape(-1).view(np.uint8).copy()
        number = len(self.buffers)
        self.buffers.append(ir.Buffer(number, base.nbytes, kind, None))
        self.bases.append(base)
        rows = np.ascontiguousarray(array)
        return ir.View(
            number, 0, array.shape, rows.strides[-array.ndim :] if array.ndim else (), array.dtype
        )

    def scratch(self, shape: tuple[int, ...], dtype: Any) -> ir.View:
        rng = np.random.default_rng(len(self.buffers))
        junk = rng.integers(0, 100, shape).astype(dtype)
        return self.view(np.asarray(junk), ir.Kind.SCRATCH)

    def add(self, instruction: ir.Instruction) -> None:
        self.instructions.append(instruction)

    def map(
        self, function: str, *inputs: ir.Operand, out: ir.View, loop: Iterable[Any] = ()
    ) -> ir.View:
        loop = tuple(np.dtype(t) for t in loop) or default_loop(function, inputs, out)
        wide = tuple(x if isinstance(x, ir.Number) else x.broadcast(out.shape) for x in inputs)
        self.add(ir.Map(function, wide, out, loop))
        return out

    def array(self, view: ir.View) -> np.ndarray:
        return ir.array_of(view, self.bases[view.buffer])

    # ---------------------------------------------------------------- running

    def lower(self, needed: Iterable[int] = ()) -> Native:
        return lower(self.instructions, self.buffers, needed)

    def run(self, native: Native, bases: list[np.ndarray] | None = None) -> None:
        table = np.array([b.ctypes.data for b in bases or self.bases], np.uintp)
        native.run(table.ctypes.data)

    def check(
        self, bits: bool = True, needed: Iterable[int] | None = None, signed_zeros: bool = True
    ) -> Native:
        """Run natively and by NumPy, and compare every buffer that is seen afterwards."""
        everything = set(range(len(self.buffers)) if needed is None else needed)
        everything |= {b.number for b in self.buffers if b.kind is not ir.Kind.SCRATCH}
        native = self.lower(everything)
        mine = [b.copy() for b in self.bases]
        theirs = [b.copy() for b in self.bases]
        self.run(native, mine)
        with np.errstate(all="ignore"):
            for instruction in self.instructions:
                interpret(instruction, theirs)
        if bits:
            written = {v.buffer: v for i in self.instructions for v in i.writes()}
            for number in set(written) & set(everything):
                a, b = mine[number], theirs[number]
                if not signed_zeros:
                    a, b = ((x.view(written[number].dtype) + 0).view(np.uint8) for x in (a, b))
                same_numbers(a, b, written[number].dtype, self.instructions)
        self.mine, self.theirs = mine, theirs
        return native


def same_numbers(a: np.ndarray, b: np.ndarray, dtype: Any, what: object = "") -> None:
    """Equal bits, except that one NaN is as good as another."""
    a, b = a.view(dtype), b.view(dtype)
    nans = (a != a) & (b != b)
    different = (a.view(np.uint8).reshape(a.size, -1) != b.view(np.uint8).reshape(b.size, -1)).any(
        1
    )
    wrong = different & ~nans
    assert not wrong.any(), (what, np.flatnonzero(wrong)[:5], a[wrong][:5], b[wrong][:5])


def default_loop(function: str, inputs: Any, out: ir.View) -> tuple[Any, ...]:
    kinds = tuple(
        np.asarray(x.value).dtype if isinstance(x, ir.Number) else x.dtype for x in inputs
    )
    if function == "cast":
        return (*kinds, out.dtype)
    if function == "where":
        both = np.result_type(*kinds[1:])
        return (np.dtype(bool), both, both, both)
    ufunc = find(function)
    return tuple(np.dtype(t) for t in ufunc.resolve_dtypes((*kinds, None)))


def find(function: str) -> Any:
    import scipy.special

    return getattr(np, function, None) or getattr(scipy.special, function)


def interpret(instruction: ir.Instruction, bases: list[np.ndarray]) -> None:
    """What an instruction means, in NumPy."""

    def of(x: Any) -> Any:
        return x.value if isinstance(x, ir.Number) else ir.array_of(x, bases[x.buffer])

    if isinstance(instruction, ir.Map):
        inputs = [
            np.asarray(of(x)).astype(t)
            for x, t in zip(instruction.inputs, instruction.loop, strict=False)
        ]
        out = of(instruction.output)
        if instruction.function == "cast":
            out[...] = inputs[0].astype(instruction.loop[-1])
        elif instruction.function == "where":
            out[...] = np.where(*inputs)
        else:
            out[...] = find(instruction.function)(*inputs).astype(instruction.loop[-1], copy=False)
    elif isinstance(instruction, ir.Reduce):
        ufunc = find(instruction.function)
        result = ufunc.reduce(
            of(instruction.input), axis=instruction.axes, dtype=instruction.dtype, keepdims=True
        )
        of(instruction.output)[...] = result
    elif isinstance(instruction, ir.Product):
        result = np.matmul(of(instruction.left), of(instruction.right))
        out = of(instruction.output)
        out[...] = out + result if instruction.adds else result
    elif isinstance(instruction, ir.Gather):
        of(instruction.output)[...] = np.take(
            of(instruction.source), of(instruction.index), instruction.axis
        )
    elif isinstance(instruction, ir.GatherAlong):
        of(instruction.output)[...] = np.take_along_axis(
            of(instruction.source), of(instruction.index), instruction.axis
        )
    elif isinstance(instruction, ir.ScatterAdd):
        np.add.at(of(instruction.target), of(instruction.index), of(instruction.source))
    elif isinstance(instruction, ir.PutAlong):
        np.put_along_axis(
            of(instruction.target), of(instruction.index), of(instruction.source), instruction.axis
        )
    else:
        raise TypeError(instruction)
