"""Kernels without sums: a thread has several neighbouring elements, which it reads and writes at once.

Memory is fastest where a thread asks for sixteen bytes. What lies otherwise (a turned matrix, rows of an odd length,
memory that begins at an odd place) is read element by element, one for each thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from ..native.fusion.steps import GATHER, Access
from .kernels import THREADS, Kernel, Registers
from .scalars import loaded, storable, stored

AT_ONCE = 16  # bytes
MOST = 8  # elements of a thread
REGISTERS = (
    96  # for what a thread has read and will write: more leave too few threads to wait for memory
)
FEW = 1 << 16  # threads: of fewer elements than that each thread has one


class Vectors(Kernel):
    """Kernels whose threads have `width` elements each, one after the other along a dimension."""

    width = 1
    along = 0

    def body(self) -> None:
        """What happens to the elements of a thread, from where the counters are."""
        self.in_packs(self._steps)

    def in_packs(self, steps: Callable[[], None], condition: str = "") -> None:
        """What `steps` writes down, for each element of a thread, from where the counters are."""
        if self.width == 1:
            steps()
            return
        head, self.lines = self.lines, []
        self.head: list[str] = head
        self.packs: dict[Access, str] = {}
        steps()
        inner, self.lines = self.lines, head
        self.do("#pragma unroll")
        self.do(f"for (int k = 0; k < {self.width}; ++k) {{")
        self.lines += inner
        self.do("}")
        for access, pack in self.packs.items():
            text = f"*({self._kind(access)}*){self.place(access)} = {pack};"
            self.do(f"if ({condition}) {text}" if condition else text)

    def side_by_side(self, accesses: Iterable[Access], width: int) -> bool:
        """Whether so many elements of each lie one after the other, from where sixteen bytes (or all of them) do."""
        along = self.along
        if self.layout.sizes[along] % width:
            return False
        for access in accesses:
            strides, itemsize = self.layout.strides[access], int(access.dtype.itemsize)
            if strides[along] not in (0, itemsize):
                return False
            if not strides[along]:
                continue
            at_once = min(width * itemsize, AT_ONCE)
            if (access.buffer, access.offset) not in self.even:
                return False
            if any(s % at_once for d, s in enumerate(strides) if d != along):
                return False
        return True

    def _steps(self) -> None:
        registers: Registers = {}
        for step in self.nest.steps:
            name = self.new(step.output.dtype, self.value(step, registers))
            registers[step.output] = name, step.output.dtype
            if step.stored:
                self.store(step.output, name)

    def _kind(self, access: Access) -> str:
        return f"Pack<{stored(access.dtype)}, {self.width}>"

    def load(self, access: Access, more: str = "") -> str:
        if self.width == 1:
            return super().load(access, more)
        if not self.layout.strides[access][self.along]:  # the same for all elements of a thread
            inner, self.lines = self.lines, self.head
            name = super().load(access, more)
            self.lines = inner
            return name
        self.read.add(access)
        self.names += 1
        pack, kind = f"p{self.names}", self._kind(access)
        self.head.append(f"  const {kind} {pack} = *(const {kind}*){self.place(access)};")
        return self.new(access.dtype, loaded(f"{pack}.at[k]", access.dtype))

    def store(self, access: Access, value: str, condition: str = "") -> None:
        if self.width == 1:
            super().store(access, value, condition)
            return
        if access not in self.packs:
            self.names += 1
            self.packs[access] = f"p{self.names}"
            self.head.append(f"  {self._kind(access)} {self.packs[access]};")
        self.do(f"{self.packs[access]}.at[k] = {storable(value, access.dtype)};")


class Pointwise(Vectors):
    """A thread for each element, or for a few side by side."""

    def write_kernel(self) -> None:
        layout = self.layout
        size = math.prod(layout.sizes)
        self.along = layout.vector
        self.width = self._width(size)
        self.blocks = -(-size // (THREADS * self.width))
        kind = self.index
        times = f" * {self.width}" if self.width > 1 else ""
        self.do(f"const {kind} i = (({kind})blockIdx.x * {THREADS} + threadIdx.x){times};")
        self.do(f"if (i >= {size}) return;")
        self.unfold("i", [*layout.outer, *layout.inner], "d")
        self.body()

    def _width(self, size: int) -> int:
        """How many elements a thread can have."""
        accesses = list(self.layout.strides)
        if any(step.function == GATHER for step in self.nest.steps):
            return 1
        narrowest = min(int(access.dtype.itemsize) for access in accesses)
        width = min(MOST, AT_ONCE // narrowest)
        while width > 1 and not self._fits(width, size):
            width //= 2
        return width

    def _fits(self, width: int, size: int) -> bool:
        if size < FEW * width or not self.side_by_side(self.layout.strides, width):
            return False
        read = [a for a, strides in self.layout.strides.items() if strides[self.along]]
        return sum(max(1, width * int(a.dtype.itemsize) // 4) for a in read) <= REGISTERS
