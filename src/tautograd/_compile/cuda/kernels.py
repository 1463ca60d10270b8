"""Kernels of CUDA C from nests: what all have in common.

What steps share in a nest stays in registers; memory is read once and written where somebody reads it
later. The same nests become machine code on a CPU (`native`), by the same decisions.
"""

from __future__ import annotations

import math
from typing import Any

from ..native.fusion.loop_order import Layout, arrange
from ..native.fusion.nests import Nest
from ..native.fusion.steps import GATHER, Access, Step
from ..program.ir import Number
from .expressions import applied
from .scalars import converted, literal, loaded, register, storable, stored
from .shapes import Shape

THREADS = 256
Registers = dict[Access, tuple[str, Any]]
Even = frozenset[
    tuple[int, int]
]  # memory (buffer and offset) that begins at a multiple of 16 bytes


class Kernel:
    """The text of a kernel, and how it is launched: memory in the order of `arguments`, blocks, threads."""

    def __init__(self, nest: Nest, even: Even = frozenset()) -> None:
        self.nest = nest
        self.even = even
        self.layout: Layout = arrange(nest, 4)
        self.arguments: dict[tuple[int, int], str] = {}
        self.lines: list[str] = []
        self.names = 0
        self.counters: dict[int, str] = {}
        self.read: set[Access] = set()  # from memory
        self.blocks, self.threads = 1, THREADS
        self.parts = 1
        self.partial_bytes = 0
        self.tickets = 0
        self.shape: Shape | None = None
        self.write_kernel()

    def write_kernel(self) -> None:
        raise NotImplementedError

    def text(self, name: str) -> str:
        """The whole function."""
        given = [f"char* {a}" for a in self.arguments.values()]
        if self.parts > 1:
            given += ["char* partial", "unsigned* tickets"]
        head = f'extern "C" __global__ void __launch_bounds__({self.threads}) {name}({", ".join(given)}) {{'
        return "\n".join([head, *self.lines, "}\n"])

    # --- words ------------------------------------------------------------------------------------

    def do(self, line: str) -> None:
        self.lines.append("  " + line)

    def new(self, dtype: Any, text: str) -> str:
        """A value in a register, and its name."""
        self.names += 1
        name = f"v{self.names}"
        self.do(f"const {register(dtype)} {name} = {text};")
        return name

    def argument(self, access: Access) -> str:
        key = access.buffer, access.offset
        return self.arguments.setdefault(key, f"a{len(self.arguments)}")

    @property
    def wide_index(self) -> bool:
        """Whether distances in memory need 64 bits."""
        far = 0
        for strides in self.layout.strides.values():
            pairs = zip(strides, self.layout.sizes, strict=True)
            far = max(far, sum(abs(s) * n for s, n in pairs))
        return far >= 1 << 31 or math.prod(self.layout.sizes) >= 1 << 31

    @property
    def index(self) -> str:
        return "long long" if self.wide_index else "int"

    def place(self, access: Access, more: str = "") -> str:
        """Where an access is at the counters' values."""
        terms = [
            f"{counter} * {stride}"
            for d, counter in self.counters.items()
            if (stride := self.layout.strides[access][d])
        ]
        if more:
            terms.append(more)
        base = self.argument(access)
        return f"({base} + ({' + '.join(terms)}))" if terms else base

    def load(self, access: Access, more: str = "") -> str:
        """A number from memory, in a register."""
        self.read.add(access)
        text = f"*(const {stored(access.dtype)}*){self.place(access, more)}"
        return self.new(access.dtype, loaded(text, access.dtype))

    def store(self, access: Access, value: str, condition: str = "") -> None:
        text = f"*({stored(access.dtype)}*){self.place(access)} = {storable(value, access.dtype)};"
        self.do(f"if ({condition}) {text}" if condition else text)

    def unfold(self, flat: str, dims: list[int], prefix: str) -> None:
        """Counters of dimensions out of one number, the last of them moving fastest."""
        rest = flat
        sizes = self.layout.sizes
        for i, d in enumerate(reversed(dims)):
            name = f"{prefix}{d}"
            last = i == len(dims) - 1
            self.do(
                f"const {self.index} {name} = {rest};"
                if last
                else f"const {self.index} {name} = {rest} % {sizes[d]};"
            )
            if not last:
                self.do(f"const {self.index} {name}r = {rest} / {sizes[d]};")
                rest = f"{name}r"
            self.counters[d] = name

    # --- steps ------------------------------------------------------------------------------------

    def operand(self, x: Access | Number, dtype: Any, registers: Registers) -> str:
        """An operand in a dtype, from a register if it is in one."""
        if isinstance(x, Number):
            return literal(x.value, dtype)
        found = registers.get(x) or self.elsewhere(x)
        if found is None:
            found = registers[x] = self.load(x), x.dtype
        name, given = found
        if given == dtype:
            return name
        key = Access(x.buffer, x.offset, x.strides, (x.dtype, dtype))
        if key not in registers:
            registers[key] = self.new(dtype, converted(name, given, dtype)), dtype
        return registers[key][0]

    def elsewhere(self, access: Access) -> tuple[str, Any] | None:
        """A value that was found before the loop that is being written."""
        return None

    def value(self, step: Step, registers: Registers) -> str:
        """What a step that reduces nothing computes, as the dtype it is stored in."""
        if step.function == GATHER:
            return self._gathered(step, registers)
        values = [
            self.operand(x, dtype, registers)
            for x, dtype in zip(step.inputs, step.loop, strict=False)
        ]
        power = step.inputs[1] if step.function == "power" else None
        exponent = float(power.value) if isinstance(power, Number) else None
        text = applied(step.function, values, step.loop, exponent)
        return converted(text, step.loop[-1], step.output.dtype)

    def _gathered(self, step: Step, registers: Registers) -> str:
        """What the index points to; one outside counts on from the other end, as CuPy has it."""
        assert step.index is not None
        (source,) = step.inputs
        assert isinstance(source, Access)
        at = self.operand(step.index.access, step.index.access.dtype, registers)
        size = step.index.size
        wide = "long long" if self.wide_index or size * abs(step.index.stride) >= 1 << 31 else "int"
        self.names += 1
        place = f"g{self.names}"
        self.do(f"long long {place} = (long long){at} % {size};")
        self.do(f"if ({place} < 0) {place} += {size};")
        name = self.load(source, f"({wide}){place} * {step.index.stride}")
        return converted(name, source.dtype, step.output.dtype)
