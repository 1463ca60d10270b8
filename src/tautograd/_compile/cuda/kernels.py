"""Kernels of CUDA C from nests: one element per thread, or rows that are reduced.

What steps share in a nest stays in registers; memory is read once and written where somebody reads it
later. The same nests become machine code on a CPU (`native`), by the same decisions.
"""

from __future__ import annotations

import math
from typing import Any

from ..ir import Number
from ..native.fusion import Nest
from ..native.layout import Layout, arrange
from ..native.reductions import identity
from ..native.steps import DOT, GATHER, Access, Step
from .expressions import applied
from .scalars import BOOL, converted, literal, loaded, register, storable, stored
from .shapes import Shape, shape_of_rows

THREADS = 256
_COMBINES = {
    "add": "Add",
    DOT: "Add",
    "multiply": "Multiply",
    "maximum": "Maximum",
    "minimum": "Minimum",
    "logical_and": "All",
    "logical_or": "Any",
}
Registers = dict[Access, tuple[str, Any]]


class Kernel:
    """The text of a kernel, and how it is launched: memory in the order of `arguments`, blocks, threads."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
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


class Pointwise(Kernel):
    """A thread for each element."""

    def write_kernel(self) -> None:
        sizes = self.layout.sizes
        size = math.prod(sizes)
        self.blocks = -(-size // THREADS)
        kind = "long long" if self.wide_index else "int"
        self.do(f"const {kind} i = ({kind})blockIdx.x * {THREADS} + threadIdx.x;")
        self.do(f"if (i >= {size}) return;")
        self.unfold("i", [*self.layout.outer, *self.layout.inner], "d")
        registers: Registers = {}
        for step in self.nest.steps:
            name = self.new(step.output.dtype, self.value(step, registers))
            registers[step.output] = name, step.output.dtype
            if step.stored:
                self.store(step.output, name)


class Rows(Kernel):
    """Several threads for each row: passes over it, and what happens once per row between them."""

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
        first, end = "t", str(shape.width)
        if shape.parts > 1:
            each = -(-shape.width // shape.parts)
            self.do(f"const {self.index} part = blockIdx.x % {shape.parts};")
            first, end = f"part * {each} + t", f"part * {each} + {each}"
            self.do(f"const {self.index} end = {end} < {shape.width} ? {end} : {shape.width};")
            end = "end"
        self.do(f"for ({self.index} e = {first}; e < {end}; e += {shape.threads}) {{")
        outer = dict(self.counters)
        self.unfold("e", self.layout.inner, f"p{p}_")
        registers: Registers = {}
        for step in steps:
            if step.reduced is not None:
                self._take(step, registers, totals[id(step)])
                continue
            name = self.new(step.output.dtype, self.value(step, registers))
            registers[step.output] = name, step.output.dtype
            if step.stored:
                self.store(step.output, name, "live")
        self.do("}")
        self.counters = outer
        for s in sums:
            self._combine(s, totals[id(s)], shape)
        if shape.parts > 1:
            self._last_block(sums, totals, shape)
        for s in sums:
            self._finish(s, totals[id(s)])

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
    from ..native.types import FLOAT32, is_half

    return FLOAT32 if is_half(step.loop[1]) else step.loop[1]


def _adds_as(step: Step) -> str:
    """The type of its total: threads exchange nothing smaller than 32 bits."""
    dtype = _added_in(step)
    return "int" if dtype.itemsize < 4 else register(dtype)


def kernel_of(nest: Nest) -> Kernel:
    """The kernel of a nest."""
    return Rows(nest) if nest.reduced is not None else Pointwise(nest)
