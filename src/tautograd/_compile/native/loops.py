"""A loop nest as machine code: rows, passes over a row, vectors along it and the rest at its end."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import ExitStack
from typing import Any

import numpy as np

from ..dynamic.size import Size, is_number
from ..program.ir import CHECK, Number
from . import memory, reductions
from .fusion import parallel_loop
from .fusion.loop_order import Layout, arrange
from .fusion.nests import Nest
from .fusion.steps import DOT, GATHER, Access, Step
from .llvm import scalar_ops
from .llvm.code import Code, Shared, function_text
from .llvm.types import convert
from .reader import Reader, Registers

STATUS = (-1, 0)  # the argument that points to the status word


class Kernel:
    """The text of a function that runs a nest, and the memory it is to be given."""

    def __init__(self, nest: Nest, vector_bytes: int, declared: dict[str, str]) -> None:
        self.nest = nest
        self.layout: Layout = arrange(nest, vector_bytes)
        self.arguments: dict[tuple[int, int], str] = {}
        self.counters: dict[int, str] = {}
        self.code = Code(Shared(declared))
        self.checks = any(_can_stop(s) for s in nest.steps)
        self.status = ""
        if self.checks:
            self.status = self.code.variable("i32")
            self.code.do(f"store i32 0, ptr {self.status}")
        self._run()

    def text(self, name: str) -> str:
        """The function; it takes an array of pointers, in the order of `arguments`."""
        tail: list[str] = []
        if self.checks:
            tail = memory.report(self.code, self.status, self.argument(STATUS))
        return function_text(name, self.code, self.arguments.values(), tail)

    def argument(self, key: tuple[int, int]) -> str:
        return self.arguments.setdefault(key, f"%a{len(self.arguments)}")

    # ---------------------------------------------------------------- loops

    def _run(self) -> None:
        layout, code = self.layout, self.code
        if self.checks:
            self.argument(STATUS)
        self.split, self.unit, self.units = parallel_loop.split(self.nest, layout)
        with ExitStack() as stack:
            for d in layout.outer:
                if d == layout.vector:
                    continue
                bounds = ("%begin", "%end") if d == self.split else ("0", str(layout.sizes[d]))
                self.counters[d] = stack.enter_context(code.loop(*bounds))
            if layout.across:
                self._sections(code, layout.vector, layout.lanes, self._vectors)
            else:
                self._row(1, 1)

    def _vectors(self, start: str, stop: str, live: int) -> None:
        """Rows side by side in a vector: from start to stop in steps of one, or what is left of one."""
        d, lanes = self.layout.vector, self.layout.lanes
        with self.code.loop(start, stop, lanes) as counter:
            self.counters[d] = counter
            self._row(lanes, live)

    def _sections(
        self, code: Code, d: int, step: int, body: Callable[[str, str, int], None]
    ) -> None:
        """A dimension in whole steps and the rest; of a split one only this range's part."""
        size = self.layout.sizes[d]
        rest: Any = size % step
        whole = size - rest
        if type(rest) is Size:
            self._unknown_sections(code, d, step, body)
            return
        if d != self.split:
            if whole:
                body("0", str(whole), step)
            if rest:
                body(str(whole), str(size), rest)
            return
        if whole:
            start = code.product("%begin", self.unit)
            stop = code.least(code.product("%end", self.unit), whole)
            with code.when(code.new(f"icmp ult i64 {start}, {stop}")):
                body(start, stop, step)
        if rest:
            with code.when(code.new(f"icmp eq i64 %end, {self.units}")):
                body(str(whole), str(size), rest)

    def _unknown_sections(
        self, code: Code, d: int, step: int, body: Callable[[str, str, int], None]
    ) -> None:
        """The same where it is not known whether there are whole steps and whether there is a rest."""
        size = self.layout.sizes[d]
        rest = size % step
        whole = size - rest
        start, stop = "0", str(whole)
        if d == self.split:
            start = code.product("%begin", self.unit)
            stop = code.least(code.product("%end", self.unit), whole)
            some = code.new(f"icmp ult i64 {start}, {stop}")
        else:
            some = code.new(f"icmp ne i64 {code.new(f'sub i64 {whole}, 0')}, 0")
        with code.when(some):
            body(start, stop, step)
        more = code.new(f"icmp ne i64 {code.new(f'sub i64 {rest}, 0')}, 0")
        if d == self.split:
            last = code.new(f"icmp eq i64 %end, {self.units}")
            more = code.new(f"and i1 {more}, {last}")
        with code.when(more):
            body(str(whole), str(size), rest)

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
        rounds: Any,
        sums: list[reductions.Accumulator],
    ) -> None:
        """The innermost loop, in chunks after which sums are put aside if there are many rounds."""
        layout, code = self.layout, self.code
        lanes = layout.lanes
        step = 1 if layout.across else lanes
        chunk = reductions.ROUNDS * step
        many = type(rounds) is Size or rounds > reductions.ROUNDS
        aside = many and any(s.compensated for s in sums)

        def section(start: str, stop: str, now: int) -> None:
            before, inner = code.part(), code.part()
            with inner.loop(start, stop, step) as counter:
                self.counters[d] = counter
                body(inner, before, lanes, live if layout.across else now)
            code.place(before)
            code.place(inner)

        def sections(start: str, stop: str, now: int) -> None:
            short = not is_number(start) or (is_number(stop) and int(stop) - int(start) <= chunk)
            if not aside or not stop.isdigit() or short:
                section(start, stop, now)
                return
            with code.loop(start, stop, chunk) as first:
                last = code.least(code.new(f"add i64 {first}, {chunk}"), stop)
                section(first, last, now)
                for s in sums:
                    s.put_aside(code)

        self._sections(code, d, step, sections)
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
        if step.function == CHECK:
            memory.require(code, values[0], reader.live, self.status, step.number + 1)
            return
        key = (step.function, step.loop, tuple(v.text for v in values))
        if key not in reader.known:
            reader.known[key] = scalar_ops.apply(code, step.function, values, step.loop)
        value = reader.known[key]
        reader.write(step, convert(code, value, step.output.dtype))


def _can_stop(step: Step) -> bool:
    """Whether a step sets the status, which then says its number."""
    return step.index is not None or step.function == CHECK


def shape_of(nest: Nest) -> tuple[Hashable, list[tuple[int, int]]]:
    """All that a nest's function depends on, with memory by number; and the memory in that order."""
    places: dict[tuple[int, int], int] = {STATUS: 0}

    def number(x: Access | Number) -> Hashable:
        if isinstance(x, Number):
            value = np.asarray(x.value)
            return (value.dtype, value.tobytes())
        place = places.setdefault((x.buffer, x.offset), len(places))
        return (place, x.strides, x.dtype)

    steps = tuple(
        (
            s.function,
            tuple(number(x) for x in s.inputs),
            s.loop,
            number(s.output),
            s.reduced,
            s.number if _can_stop(s) else None,
            s.index and (number(s.index.access), s.index[1:]),
            (s.adds, s.full, s.time, s.stored),
        )
        for s in nest.steps
    )
    return (nest.dims, nest.reduced, steps), list(places)
