"""Kernels of nests that reduce: several threads for each row, long rows cut into parts.

Every thread of a row goes over its elements with a total of its own; the totals are put together between
threads, and between the parts of a row by the block that is done last, always in the same order.
"""

from __future__ import annotations

from typing import Any

from ..native.fusion.nests import Nest
from ..native.fusion.steps import DOT, GATHER, Access, Step
from ..native.reductions import identity
from .kernels import Even, Kernel, Registers
from .scalars import BOOL, FLOAT32, converted, is_half, literal, register
from .shapes import Shape, shape_of_rows
from .vectors import AT_ONCE, Pointwise, Vectors

_COMBINES = {
    "add": "Add",
    DOT: "Add",
    "multiply": "Multiply",
    "maximum": "Maximum",
    "minimum": "Minimum",
    "logical_and": "All",
    "logical_or": "Any",
}


class Rows(Vectors):
    """Several threads for each row: passes over it, and what happens once per row between them.

    Where the elements of a row lie side by side, a thread has a few of them at once.
    """

    def write_kernel(self) -> None:
        layout = self.layout
        shape = self.shape = shape_of_rows(self.nest, layout)
        self.parts = shape.parts
        self.blocks, self.threads = shape.grid * shape.parts, shape.block
        self.kept: Registers = {}
        self.hoisted: Registers = {}
        self.in_loop = False
        index = self.index
        wide, threads = shape.wide, shape.threads
        block = "blockIdx.x" if shape.parts == 1 else f"blockIdx.x / {shape.parts}"
        self.do(f"const int t = threadIdx.x / {wide} % {threads};")
        self.do(f"const {index} block = {block};")
        self.do(
            f"const {index} wanted = (block * {shape.groups} + threadIdx.x / {wide * threads}) * {wide} "
            f"+ threadIdx.x % {wide};"
        )
        self.do(f"const bool live = wanted < {shape.rows};")
        self.do(f"const {index} row = live ? wanted : 0;")
        self.unfold("row", layout.outer, "d")
        self._once(-1)
        for p in range(self.nest.passes):
            self._pass(p, shape)
            self._once(2 * p + 1)

    def elsewhere(self, access: Access) -> tuple[str, Any] | None:
        return self.kept.get(access) or self.hoisted.get(access)

    def _once(self, time: int) -> None:
        """Steps that happen once for a row: every thread of it computes, one of them writes."""
        for step in self.nest.steps:
            if step.time == time and not step.full:
                name = self.new(step.output.dtype, self.value(step, self.kept))
                self._keep(step, name)

    def _keep(self, step: Step, name: str) -> None:
        self.kept[step.output] = name, step.output.dtype
        if not step.stored:
            return
        if any(a.buffer == step.output.buffer for a in self.read):  # all have read it by then
            assert self.shape is not None
            one_warp = self.shape.wide == 1 and self.shape.threads <= 32
            self.do("__syncwarp();" if one_warp else "__syncthreads();")
        self.store(step.output, name, "live && t == 0")

    def _hoist(self, steps: list[Step]) -> None:
        """Read before the loop what is the same for the whole row."""
        written = {s.output for s in steps}
        for step in steps:
            for access in step.reads():
                strides = self.layout.strides[access]
                same = not any(strides[d] for d in self.layout.inner)
                if same and access not in written and self.elsewhere(access) is None:
                    self.hoisted[access] = self.load(access), access.dtype

    def _pass(self, p: int, shape: Shape) -> None:
        steps = [s for s in self.nest.steps if s.time == 2 * p and s.full]
        sums = [s for s in steps if s.reduced is not None]
        self._hoist(steps)
        totals = {id(s): f"t{p}_{i}" for i, s in enumerate(sums)}
        for s in sums:
            dtype = _added_in(s)
            first = literal(identity(s.function, dtype), dtype)
            self.do(f"{_adds_as(s)} {totals[id(s)]} = {first};")
        width = self._elements(steps, shape)
        first, end = f"t * {width}" if width > 1 else "t", str(shape.width)
        if shape.parts > 1:
            each = -(-shape.width // shape.parts)
            self.do(f"const {self.index} part = blockIdx.x % {shape.parts};")
            first, end = f"part * {each} + {first}", f"part * {each} + {each}"
            self.do(f"const {self.index} end = {end} < {shape.width} ? {end} : {shape.width};")
            end = "end"
        self.do(f"#pragma unroll {4 if width == 1 else 2}")
        self.do(f"for ({self.index} e = {first}; e < {end}; e += {shape.threads * width}) {{")
        outer = dict(self.counters)
        self.unfold("e", self.layout.inner, f"p{p}_")
        self.width = width
        self.in_packs(lambda: self._elements_of(steps, totals), "live")
        self.width = 1
        self.do("}")
        self.counters = outer
        for s in sums:
            self._combine(s, totals[id(s)], shape)
        if shape.parts > 1:
            self._last_block(sums, totals, shape)
        for s in sums:
            self._finish(s, totals[id(s)])

    def _elements_of(self, steps: list[Step], totals: dict[int, str]) -> None:
        registers: Registers = {}
        for step in steps:
            if step.reduced is not None:
                self._take(step, registers, totals[id(step)])
                continue
            name = self.new(step.output.dtype, self.value(step, registers))
            registers[step.output] = name, step.output.dtype
            if step.stored:
                self.store(step.output, name, "live")

    def _elements(self, steps: list[Step], shape: Shape) -> int:
        """How many elements of a row a thread has at once in a pass of these steps."""
        inner = self.layout.inner
        if shape.wide > 1 or not inner or any(step.function == GATHER for step in steps):
            return 1
        self.along = inner[-1]
        accesses = {a for step in steps for a in step.reads() if self.elsewhere(a) is None}
        accesses |= {step.output for step in steps if step.reduced is None and step.stored}
        accesses -= {step.output for step in steps if step.reduced is None and not step.stored}
        width = AT_ONCE // max((int(a.dtype.itemsize) for a in accesses), default=AT_ONCE)
        each = -(-shape.width // shape.parts)
        enough = width > 1 and shape.threads * width <= each and not each % width
        return width if enough and self.side_by_side(accesses, width) else 1

    def _take(self, step: Step, registers: Registers, total: str) -> None:
        dtype = _added_in(step)
        values = [self.operand(x, dtype, registers) for x in step.inputs]
        if step.function == DOT:
            self.do(f"{total} = fma({values[0]}, {values[1]}, {total});")
        else:
            kind = _adds_as(step)
            self.do(f"{total} = {_COMBINES[step.function]}::of({total}, ({kind}){values[0]});")

    def _combine(self, step: Step, total: str, shape: Shape) -> None:
        how = "across" if shape.wide > 1 else "along"
        self.do(f"{total} = {how}<{_COMBINES[step.function]}, {shape.threads}>({total});")

    def _last_block(self, sums: list[Step], totals: dict[int, str], shape: Shape) -> None:
        """The parts of a row are put together by the block that is done last, in their order."""
        rows = shape.grid * shape.wide * shape.groups
        self.tickets = shape.grid
        each = rows * shape.parts * 8
        places = [i * each for i in range(len(sums))]
        self.partial_bytes = len(sums) * each
        for s, at in zip(sums, places, strict=True):
            kind = _adds_as(s)
            self.do(
                f"if (t == 0) (({kind}*)(partial + {at}ll))[part * {rows} + wanted] = {totals[id(s)]};"
            )
        self.do("__shared__ bool last;")
        self.do("__threadfence();")
        self.do("__syncthreads();")
        self.do(
            f"if (threadIdx.x == 0) last = atomicAdd(tickets + block, 1u) == {shape.parts - 1}u;"
        )
        self.do("__syncthreads();")
        self.do("if (!last) return;")
        self.do("__threadfence();")
        for s, at in zip(sums, places, strict=True):
            kind, dtype, total = _adds_as(s), _added_in(s), totals[id(s)]
            self.do(f"{total} = {literal(identity(s.function, dtype), dtype)};")
            self.do(
                f"for (int k = t; k < {shape.parts}; k += {shape.threads}) {total} = "
                f"{_COMBINES[s.function]}::of({total}, "
                f"({kind})((volatile {kind}*)(partial + {at}ll))[k * {rows} + wanted]);"
            )
            self._combine(s, total, shape)
        self.do("if (threadIdx.x == 0) tickets[block] = 0;")

    def _finish(self, step: Step, total: str) -> None:
        dtype = _added_in(step)
        if step.adds:
            before = self.operand(step.output, dtype, self.kept)
            total = self.new(dtype, f"{total} + {before}")
        name = self.new(step.output.dtype, converted(f"({total})", dtype, step.output.dtype))
        self._keep(step, name)


def _added_in(step: Step) -> Any:
    """The dtype that a reduction adds up in."""
    if step.function in ("logical_and", "logical_or"):
        return BOOL
    return FLOAT32 if is_half(step.loop[1]) else step.loop[1]


def _adds_as(step: Step) -> str:
    """The type of its total: threads exchange nothing smaller than 32 bits."""
    dtype = _added_in(step)
    return "int" if dtype.itemsize < 4 else register(dtype)


def kernel_of(nest: Nest, even: Even = frozenset()) -> Kernel:
    """The kernel of a nest."""
    return Rows(nest, even) if nest.reduced is not None else Pointwise(nest, even)
