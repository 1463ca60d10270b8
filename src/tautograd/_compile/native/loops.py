"""A loop nest as machine code: rows, passes over a row, vectors along it and the rest at its end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from ..ir import Number
from . import memory, reductions, scalar_ops
from .code import Code, Shared
from .fusion import Nest
from .layout import Layout, arrange
from .steps import DOT, GATHER, Access, Step
from .types import Value, constant, convert, splat

Registers = dict[Access, Value]
STATUS = (-1, 0)  # the argument that points to the status word


class Kernel:
    """The text of a function that runs a nest, and the memory it is to be given."""

    def __init__(self, nest: Nest, vector_bytes: int, declared: dict[str, str]) -> None:
        self.nest = nest
        self.layout: Layout = arrange(nest, vector_bytes)
        self.arguments: dict[tuple[int, int], str] = {}
        self.counters: dict[int, str] = {}
        self.code = Code(Shared(declared))
        self.checks = any(s.index is not None for s in nest.steps)
        self.status = self.code.variable("i32") if self.checks else ""
        self._run()

    def text(self, name: str) -> str:
        """The function; it takes an array of pointers, in the order of `arguments`."""
        lines = [f"define internal void @{name}(ptr %args) nounwind {{", "entry:"]
        lines += self.code.shared.variables
        for place, argument in enumerate(self.arguments.values()):
            lines.append(f"  {argument}p = getelementptr ptr, ptr %args, i64 {place}")
            lines.append(f"  {argument} = load ptr, ptr {argument}p")
        if self.checks:
            lines.append(f"  store i32 0, ptr {self.status}")
        lines += self.code.lines
        if self.checks:
            lines += memory.report(self.code, self.status, self.argument(STATUS))
        lines += ["  ret void", "}"]
        return "\n".join(lines)

    def argument(self, key: tuple[int, int]) -> str:
        return self.arguments.setdefault(key, f"%a{len(self.arguments)}")

    # ---------------------------------------------------------------- loops

    def _run(self) -> None:
        layout, code = self.layout, self.code
        if self.checks:
            self.argument(STATUS)
        with ExitStack() as stack:
            for d in layout.outer:
                if d != layout.vector:
                    size = str(layout.sizes[d])
                    self.counters[d] = stack.enter_context(code.loop("0", size))
            if layout.across:
                self._vectors(code, self._row)
            else:
                self._row(1, 1)

    def _vectors(self, code: Code, body: Callable[[int, int], None]) -> None:
        """The vector's dimension: whole vectors in a loop, then what is left of one."""
        d, lanes = self.layout.vector, self.layout.lanes
        size = self.layout.sizes[d]
        whole = size - size % lanes
        if whole:
            with code.loop("0", str(whole), lanes) as counter:
                self.counters[d] = counter
                body(lanes, lanes)
        if whole < size:
            self.counters[d] = str(whole)
            body(lanes, size - whole)

    def _row(self, lanes: int, live: int) -> None:
        """All passes over one row (over `live` rows at once, when the vector runs across)."""
        kept: Registers = {}
        self._kept_steps(-1, kept, lanes, live)
        for p in range(self.nest.passes):
            self._pass(p, kept, lanes, live)
            self._kept_steps(2 * p + 1, kept, lanes, live)

    def _kept_steps(self, time: int, kept: Registers, lanes: int, live: int) -> None:
        for step in self.nest.steps:
            if step.time == time and not step.full:
                reader = Reader(self, self.code, None, kept, {}, lanes, live, None)
                self._step(step, reader)

    def _pass(self, p: int, kept: Registers, lanes: int, live: int) -> None:
        steps = [s for s in self.nest.steps if s.time == 2 * p and s.full]
        layout, code = self.layout, self.code
        width = lanes if layout.across else layout.lanes
        sums = {
            id(s): reductions.Accumulator(code, s, width) for s in steps if s.reduced is not None
        }
        rounds = reductions.rounds(layout)
        with ExitStack() as stack:
            for d in layout.inner[:-1]:
                size = str(layout.sizes[d])
                self.counters[d] = stack.enter_context(code.loop("0", size))
            last = layout.inner[-1]

            def body(inner: Code, before: Code, lanes: int, live: int) -> None:
                reader = Reader(self, inner, before, {}, kept, lanes, live, last)
                for step in steps:
                    self._step(step, reader, sums.get(id(step)))

            self._innermost(last, body, live, rounds, list(sums.values()))
        for step in steps:
            if step.reduced is not None:
                total = sums[id(step)].total(code, layout.across)
                reader = Reader(self, code, None, kept, {}, lanes, live, None)
                if step.adds:
                    before = reader.read(step.output, total.dtype)
                    total = scalar_ops.apply(code, "add", [before, total], (total.dtype,) * 3)
                reader.write(step, convert(code, total, step.output.dtype))

    def _innermost(
        self,
        d: int,
        body: Callable[[Code, Code, int, int], None],
        live: int,
        rounds: int,
        sums: list[reductions.Accumulator],
    ) -> None:
        """The innermost loop, in chunks after which sums are put aside if there are many rounds."""
        layout, code = self.layout, self.code
        lanes = layout.lanes
        step = 1 if layout.across else lanes
        size = layout.sizes[d]
        whole = size - size % step

        def section(start: str, stop: str) -> None:
            before, inner = code.part(), code.part()
            with inner.loop(start, stop, step) as counter:
                self.counters[d] = counter
                body(inner, before, lanes, live if layout.across else lanes)
            code.place(before)
            code.place(inner)

        chunk = reductions.ROUNDS * step
        aside = rounds > reductions.ROUNDS and any(s.compensated for s in sums)
        if whole and aside and whole > chunk:
            with code.loop("0", str(whole), chunk) as start:
                stop = code.new(f"add i64 {start}, {chunk}")
                stop = _least(code, stop, whole)
                section(start, stop)
                for s in sums:
                    s.put_aside(code)
        elif whole:
            section("0", str(whole))
        if whole < size:
            before, inner = code.part(), code.part()
            self.counters[d] = str(whole)
            body(inner, before, lanes, size - whole)
            code.place(before)
            code.place(inner)
        if aside:
            for s in sums:
                s.put_aside(code)

    # ---------------------------------------------------------------- steps

    def _step(
        self, step: Step, reader: Reader, total: reductions.Accumulator | None = None
    ) -> None:
        code = reader.code
        if step.function == GATHER:
            value = reader.gather(step)
            reader.write(step, convert(code, value, step.output.dtype))
            return
        if total is not None:
            dtype = total.dtype
            values = [reader.read(x, dtype) for x in step.inputs]
            total.take(code, values, reader.live, step.function == DOT)
            return
        values = [reader.read(x, dtype) for x, dtype in zip(step.inputs, step.loop, strict=False)]
        value = scalar_ops.apply(code, step.function, values, step.loop)
        reader.write(step, convert(code, value, step.output.dtype))


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
        distance = code.new(
            f"mul {place.typed}, {constant(index.stride, memory.INT64, place.lanes).text}"
        )
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


def _least(code: Code, a: str, b: int) -> str:
    less = code.new(f"icmp ult i64 {a}, {b}")
    return code.new(f"select i1 {less}, i64 {a}, i64 {b}")
