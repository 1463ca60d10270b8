"""Operands of a step: from registers if they are there, else from memory, as early as they can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..program.ir import Number
from . import memory
from .fusion.steps import Access, Step
from .llvm.code import Code
from .llvm.types import Value, constant, convert, splat

if TYPE_CHECKING:
    from .loops import Kernel

Registers = dict[Access, Value]


class Reader:
    """Reads and writes of one place in a nest: from registers if they are there, else from memory.

    `before` is the code before the innermost loop: what does not change in that loop is read there.
    """

    def __init__(
        self,
        kernel: Kernel,
        code: Code,
        before: Code | None,
        registers: Registers,
        kept: Registers,
        lanes: int,
        live: int,
        innermost: int | None,
    ) -> None:
        self.kernel = kernel
        self.code = code
        self.before = before
        self.registers = registers
        self.kept = kept
        self.lanes = lanes
        self.live = live
        self.innermost = innermost
        self.outside: dict[tuple[Access, object], Value] = {}
        self.rows: dict[Access, str] = {}
        self.known: dict[object, Value] = {}  # functions of values, computed already

    def read(self, operand: Access | Number, dtype: object) -> Value:
        """An operand in a dtype, in as many lanes as are computed."""
        if isinstance(operand, Number):
            return constant(operand.value, dtype, self.lanes)
        if operand in self.registers:
            return convert(self.code, self._fit(self.code, self.registers[operand]), dtype)
        key = (operand, dtype)
        if key in self.outside:
            return self.outside[key]
        if operand in self.kept:
            assert self.before is not None
            value = convert(self.before, self.kept[operand], dtype)
            self.outside[key] = self._fit(self.before, value)
            return self.outside[key]
        if self.before is not None and not self._stride(operand, self.innermost):
            value = convert(self.before, self._load(self.before, operand), dtype)
            self.outside[key] = self._fit(self.before, value)
            return self.outside[key]
        value = self._load(self.code, operand)
        self.registers[operand] = value
        return convert(self.code, self._fit(self.code, value), dtype)

    def write(self, step: Step, value: Value) -> None:
        self.registers[step.output] = value
        if step.stored:
            pointer = self.pointer(self.code, step.output)
            stride = self._stride(step.output, self.kernel.layout.vector)
            memory.store(self.code, value, pointer, stride, self.live)

    def gather(self, step: Step) -> Value:
        """What the index points to; an index outside is noted, and 0 is taken for it."""
        assert step.index is not None
        (source,) = step.inputs
        assert isinstance(source, Access)
        code, index = self.code, step.index
        place = self.read(index.access, memory.INT64)
        along = self._stride(index.access, self.kernel.layout.vector)
        if not along and place.lanes > 1:
            place = Value(code.new(f"extractelement {place.typed}, i64 0"), place.dtype, 1)
        place = memory.check(code, place, index.size, self.kernel.status, step.number + 1)
        distance = code.new(f"mul {place.typed}, {memory.number(code, index.stride, place.lanes)}")
        pointer = self.pointer(code, source)
        stride = self._stride(source, self.kernel.layout.vector)
        if place.lanes == 1:
            pointer = code.offset(pointer, distance)
            value = memory.load(code, pointer, source.dtype, stride, self.lanes, self.live)
        else:
            value = memory.load_from(
                code, pointer, distance, source.dtype, stride, self.lanes, self.live
            )
        return self._fit(code, value)

    def pointer(self, code: Code, access: Access) -> str:
        """Where an access is at the counters' values."""
        kernel = self.kernel
        argument = kernel.argument((access.buffer, access.offset))
        strides = kernel.layout.strides[access]
        distance = "0"
        row = self.before if self.before is not None and code is not self.before else None
        if row is None:
            for d, counter in kernel.counters.items():
                if d != self.innermost:
                    distance = code.sum(distance, code.product(counter, strides[d]))
            return code.offset(argument, distance)
        if access not in self.rows:
            self.rows[access] = self.pointer(row, access)
        assert self.innermost is not None
        counter = kernel.counters[self.innermost]
        return code.offset(self.rows[access], code.product(counter, strides[self.innermost]))

    def _stride(self, access: Access, d: int | None) -> int:
        return 0 if d is None else self.kernel.layout.strides[access][d]

    def _load(self, code: Code, access: Access) -> Value:
        pointer = self.pointer(code, access)
        stride = self._stride(access, self.kernel.layout.vector)
        return memory.load(code, pointer, access.dtype, stride, self.lanes, self.live)

    def _fit(self, code: Code, value: Value) -> Value:
        return value if value.lanes == self.lanes else splat(code, value, self.lanes)
