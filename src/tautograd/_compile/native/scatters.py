"""Writes to places that an index names: added one after another, or put."""

from __future__ import annotations

from ..dynamic.size import divides
from ..program.ir import Number, PutAlong, ScatterAdd, View
from . import memory
from .llvm import scalar_ops
from .llvm.code import Code, Shared, function_text
from .llvm.types import Value, constant, convert


class ScatterKernel:
    """A function that goes through an index in order; one element at a time, or a row where rows lie together."""

    def __init__(
        self,
        number: int,
        instruction: ScatterAdd | PutAlong,
        vector_bytes: int,
        declared: dict[str, str],
    ) -> None:
        self.number = number
        self.units = 0  # in order, so by one thread
        self.lanes = vector_bytes // max(instruction.target.dtype.itemsize, 4)
        self.arguments: dict[tuple[int, int], str] = {(-1, 0): "%a0"}
        self.code = Code(Shared(declared))
        self.status = self.code.variable("i32")
        self.code.do(f"store i32 0, ptr {self.status}")
        if isinstance(instruction, ScatterAdd):
            self._add(instruction)
        else:
            self._put(instruction)

    def text(self, name: str) -> str:
        tail = memory.report(self.code, self.status, "%a0")
        return function_text(name, self.code, self.arguments.values(), tail)

    def _base(self, view: View) -> str:
        return self.arguments.setdefault((view.buffer, view.offset), f"%a{len(self.arguments)}")

    def _place(self, index: View, pointer: str, size: int) -> str:
        code = self.code
        value = convert(code, memory.load(code, pointer, index.dtype, 0, 1, 1), memory.INT64)
        return memory.check(code, value, size, self.status, self.number + 1).text

    def _add(self, scatter: ScatterAdd) -> None:
        target, index, source = scatter.target, scatter.index, scatter.source
        code = self.code
        bases = [self._base(v) for v in (target, index, source)]
        if not index.size or not source.size:
            return
        with code.loop("0", str(index.shape[0])) as i:
            place = self._place(
                index, code.offset(bases[1], code.product(i, index.strides[0])), target.shape[0]
            )
            to = code.offset(bases[0], code.new(f"mul i64 {place}, {target.strides[0]}"))
            from_ = code.offset(bases[2], code.product(i, source.strides[0]))
            self._row(code, to, from_, target, source)

    def _row(self, code: Code, to: str, from_: str, target: View, source: View) -> None:
        """Add one row to another, dimension by dimension."""
        self._rest(code, to, from_, target, source, 1)

    def _rest(self, code: Code, to: str, from_: str, target: View, source: View, axis: int) -> None:
        if axis >= target.ndim - 1:
            size = target.shape[axis] if axis < target.ndim else 1
            steps = (target.strides[axis], source.strides[axis]) if axis < target.ndim else (0, 0)
            self._line(code, to, from_, target, source, size, steps)
            return
        with code.loop("0", str(target.shape[axis])) as i:
            self._rest(
                code,
                code.offset(to, code.product(i, target.strides[axis])),
                code.offset(from_, code.product(i, source.strides[axis])),
                target,
                source,
                axis + 1,
            )

    def _line(
        self,
        code: Code,
        to: str,
        from_: str,
        target: View,
        source: View,
        size: int,
        steps: tuple[int, int],
    ) -> None:
        beside = steps == (target.dtype.itemsize, source.dtype.itemsize)
        cuts = beside and (type(size) is int or divides(size, self.lanes))
        lanes = self.lanes if cuts else 1
        whole = size - size % lanes

        def body(counter: str, lanes: int, live: int) -> None:
            a = code.offset(to, code.product(counter, steps[0]))
            b = code.offset(from_, code.product(counter, steps[1]))
            stride = (steps[0], steps[1]) if lanes > 1 else (0, 0)
            old = memory.load(code, a, target.dtype, stride[0], lanes, live)
            new = memory.load(code, b, source.dtype, stride[1], lanes, live)
            new = convert(code, new, target.dtype)
            total = scalar_ops.apply(code, "add", [old, new], (target.dtype,) * 3)
            memory.store(code, convert(code, total, target.dtype), a, stride[0], live)

        if whole:
            with code.loop("0", str(whole), lanes) as counter:
                body(counter, lanes, lanes)
        if whole < size:
            body(str(whole), lanes, size - whole)

    def _put(self, put: PutAlong) -> None:
        target, index, source = put.target, put.index, put.source
        axis = put.axis % target.ndim
        bases = [self._base(target), self._base(index)]
        if isinstance(source, View):
            bases.append(self._base(source))
        if not index.size:
            return
        self._put_rest(put, axis, bases, 0)

    def _put_rest(self, put: PutAlong, axis: int, pointers: list[str], d: int) -> None:
        code, target, index, source = self.code, put.target, put.index, put.source
        if d == index.ndim:
            place = self._place(index, pointers[1], target.shape[axis])
            to = code.offset(pointers[0], code.new(f"mul i64 {place}, {target.strides[axis]}"))
            if isinstance(source, Number):
                value: Value = constant(source.value, target.dtype, 1)
            else:
                value = memory.load(code, pointers[2], source.dtype, 0, 1, 1)
            memory.store(code, convert(code, value, target.dtype), to, 0, 1)
            return
        with code.loop("0", str(index.shape[d])) as i:
            strides = [0 if d == axis else target.strides[d], index.strides[d]]
            if isinstance(source, View):
                strides.append(source.strides[d])
            moved = [
                code.offset(p, code.product(i, s)) for p, s in zip(pointers, strides, strict=True)
            ]
            self._put_rest(put, axis, moved, d + 1)
