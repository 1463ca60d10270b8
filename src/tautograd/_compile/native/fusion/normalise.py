"""Instructions brought into the form that loops and BLAS can run, with temporary copies where they cannot.

NumPy behaves as if a result were complete before it is written: where a result overlaps an operand
otherwise than element by element, it goes to a copy first. BLAS takes matrices whose rows or columns lie
side by side; others are copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...dynamic.size import example
from ...program.ir import (
    Buffer,
    Gather,
    GatherAlong,
    Instruction,
    Kind,
    Map,
    Number,
    Product,
    Reduce,
    View,
    overlap,
)
from ..reductions import identity
from .two_stage_sums import in_two_stages

SMALL_PRODUCT = 16384  # multiplications: below, a loop is faster than a call


class Normal:
    """The rewritten instructions, where each came from, and the buffers with the temporary ones."""

    def __init__(
        self, instructions: Sequence[Instruction | None], buffers: dict[int, Buffer]
    ) -> None:
        self.buffers = dict(buffers)
        self.instructions: list[Instruction] = []
        self.origin: list[int] = []
        self.small: set[int] = set()
        self.temporary: list[int] = []
        self._filled: dict[int, Any] = {}  # buffers that hold one number throughout
        self._next = max(buffers, default=-1) + 1
        for number, instruction in enumerate(instructions):
            self._at = number
            if instruction is not None:
                self._take(instruction)

    def _is_one(self, view: View) -> bool:
        """Whether a view is known to hold ones only."""
        return self._filled.get(view.buffer) == 1

    def _emit(self, instruction: Instruction) -> None:
        for view in instruction.writes():
            self._filled.pop(view.buffer, None)
        if isinstance(instruction, Map) and isinstance(instruction.inputs[0], Number):
            view = instruction.output
            whole = view.size * view.dtype.itemsize == self.buffers[view.buffer].nbytes
            if instruction.function == "cast" and whole:
                self._filled[view.buffer] = instruction.inputs[0].value
        self.instructions.append(instruction)
        self.origin.append(self._at)

    def _take(self, instruction: Instruction) -> None:
        if all(view.size == 0 for view in instruction.writes()):
            return
        if isinstance(instruction, Product):
            self._product(instruction)
        elif isinstance(instruction, Reduce) and not instruction.input.size:
            self._fill(instruction.output, identity(instruction.function, instruction.dtype))
        elif isinstance(instruction, (Map, Reduce, Gather, GatherAlong)):
            if isinstance(instruction, Reduce):
                stages = in_two_stages(instruction, self._temporary_of)
                if stages is not None:
                    for stage in stages:
                        self._emit(stage)
                    return
            out = instruction.output
            if any(
                overlap(view, out) and not _alike(instruction, view) for view in instruction.reads()
            ):
                copy = self._temporary(out)
                self._emit(replace(instruction, output=copy))
                self._copy(copy, out)
            else:
                self._emit(instruction)
        else:
            self._emit(instruction)

    def _fill(self, out: View, number: Any) -> None:
        value = Number(out.dtype.type(number))
        self._emit(Map("cast", (value,), out, (out.dtype, out.dtype)))

    def _copy(self, source: View, target: View) -> None:
        self._emit(Map("cast", (source,), target, (source.dtype, target.dtype)))

    def _temporary(self, like: View) -> View:
        """Memory of our own with a view's shape, in rows."""
        return self._temporary_of(like.shape, like.dtype)

    def _temporary_of(self, shape: tuple[int, ...], dtype: Any) -> View:
        strides, step = [], int(dtype.itemsize)
        for n in reversed(shape):
            strides.append(step)
            step *= n
        return View(self._new(step), 0, shape, tuple(reversed(strides)), dtype)

    def _new(self, size: int) -> int:
        number = self._next
        self._next += 1
        self.buffers[number] = Buffer(number, size, Kind.SCRATCH)
        self.temporary.append(number)
        return number

    def another(self, buffer: int) -> int:
        """Memory of our own as large as a buffer."""
        return self._new(self.buffers[buffer].nbytes)

    def append(self, instruction: Instruction, like: int) -> int:
        """One more instruction that comes from where another one does; its number."""
        self.instructions.append(instruction)
        self.origin.append(self.origin[like])
        return len(self.instructions) - 1

    # ---------------------------------------------------------------- products

    def _product(self, product: Product) -> None:
        left, right, out = product.left, product.right, product.output
        if not left.shape[-1]:
            if not product.adds:
                self._fill(out, 0)
            return
        if overlap(left, out) or overlap(right, out):
            copy = self._temporary(out)
            if product.adds:
                self._copy(out, copy)
            self._product(_like(product, left, right, copy))
            self._copy(copy, out)
            return
        product = _flatten(product)
        left, right, out = product.left, product.right, product.output
        if out.shape[-1] == 1 and not product.adds and self._is_one(right):
            self._emit(Reduce("add", left, (left.ndim - 1,), out, out.dtype))
            return
        if left.shape[-1] == 1:
            self._outer(product)
            return
        vector = 1 in out.shape[-2:]
        if vector or example(out.size * left.shape[-1]) <= SMALL_PRODUCT:
            self.small.add(len(self.instructions))
            self._emit(product)
            return
        left, right = self._for_blas(left), self._for_blas(right)
        if leading(out) is not None:
            self._emit(_like(product, left, right, out))
            return
        copy = self._temporary(out)
        if product.adds:
            self._copy(out, copy)
        self._emit(_like(product, left, right, copy))
        self._copy(copy, out)

    def _outer(self, product: Product) -> None:
        """A product that sums over nothing: every number of a column with every one of a row."""
        out = product.output
        loop = (out.dtype,) * 3
        sides = (product.left.broadcast(out.shape), product.right.broadcast(out.shape))
        result = self._temporary(out)
        self._emit(Map("multiply", sides, result, loop))
        # a sum starts from zero, so that no product of one term is a negative zero
        start = out if product.adds else Number(out.dtype.type(0))
        self._emit(Map("add", (start, result), out, loop))

    def _for_blas(self, matrix: View) -> View:
        if leading(matrix) is not None:
            return matrix
        # A matrix repeated over the stack is copied once
        shape = tuple(
            1 if s == 0 else n for n, s in zip(matrix.shape[:-2], matrix.strides[:-2], strict=True)
        )
        once = replace(matrix, shape=(*shape, *matrix.shape[-2:]))
        copy = self._temporary(once)
        self._copy(once, copy)
        return copy.broadcast(matrix.shape)


def _alike(instruction: Map | Reduce | Gather | GatherAlong, view: View) -> bool:
    """Whether a view that is read is the very one that is written, element by element."""
    out = instruction.output
    if not isinstance(instruction, Map):
        return False
    return (view.offset, view.dtype) == (out.offset, out.dtype) and all(
        a == b for a, b, n in zip(view.strides, out.strides, out.shape, strict=True) if n != 1
    )


def leading(matrix: View) -> tuple[bool, int] | None:
    """How BLAS takes the last two dimensions: (are rows side by side?, elements from one to the next)."""
    (rows, columns), (down, along) = matrix.shape[-2:], matrix.strides[-2:]
    size = matrix.dtype.itemsize
    if columns == 1:
        along = size
    if rows == 1:
        down = max(columns * size, size) if along == size else size
    if along == size and down % size == 0 and down >= columns * size:
        return True, down // size
    if down == size and along % size == 0 and along >= rows * size:
        return False, along // size
    return None


def _flatten(product: Product) -> Product:
    """Stacks of products by one matrix as one product of more rows."""
    left, right, out = product.left, product.right, product.output
    while out.ndim > 2:
        n, m = out.shape[-3], out.shape[-2]
        if n == 1:
            left, right, out = (_without(v, -3) for v in (left, right, out))
            continue
        joins = (
            right.strides[-3] == 0
            and (m == 1 or left.strides[-3] == left.strides[-2] * m)
            and (m == 1 or out.strides[-3] == out.strides[-2] * m)
        )
        if not joins:
            break
        left, out = _joined(left), _joined(out)
        right = _without(right, -3)
    return _like(product, left, right, out)


def _like(product: Product, left: View, right: View, out: View) -> Product:
    """The same product of other views."""
    return replace(product, left=left, right=right, output=out)


def _without(view: View, axis: int) -> View:
    axis %= view.ndim
    return replace(
        view,
        shape=view.shape[:axis] + view.shape[axis + 1 :],
        strides=view.strides[:axis] + view.strides[axis + 1 :],
    )


def _joined(view: View) -> View:
    """The dimension before the rows merged with the rows."""
    n, m = view.shape[-3], view.shape[-2]
    stride = view.strides[-3] if m == 1 else view.strides[-2]
    return replace(
        view,
        shape=(*view.shape[:-3], n * m, view.shape[-1]),
        strides=(*view.strides[:-3], stride, view.strides[-1]),
    )
