"""One module for a list of instructions: a function per kind of kernel, and one that calls them in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...program.ir import Buffer, Instruction, Product, PutAlong, ScatterAdd
from ..described import Fused, describe
from ..fusion.gemm_scale import with_factors
from ..fusion.grouping import nests_of
from ..fusion.nests import Nest
from ..fusion.normalise import SMALL_PRODUCT, Normal
from ..loops import STATUS, Kernel, shape_of
from ..products import ProductKernel, blas
from ..scatters import ScatterKernel
from .thread_pool_ir import ALONE, PARALLEL, TOGETHER

ENTRY = "taut_run"
CALL = "taut_call"  # the same as a function of CPython's: (address of own memory, table) -> status
START = 64  # bytes: the status word has a line of its own, with which kernels run
FIRST, LAST = 8, 16  # where its numbers are: from this kernel on, up to that one (0: all)
LONG = 100_000  # operations and bytes: a longer run lets other Python threads go on


@dataclass(slots=True)
class Module:
    """The text of a module, the bytes it needs for itself, and what is in it."""

    text: str
    scratch: int
    kernels: list[Fused]
    functions: int


def build(
    instructions: Sequence[Instruction],
    buffers: dict[int, Buffer],
    needed: Iterable[int],
    vector_bytes: int,
    threads: int = 1,
) -> Module:
    needed = frozenset(needed)
    normal = Normal(with_factors(instructions, buffers, needed, SMALL_PRODUCT), buffers)
    nests = nests_of(normal, needed)
    writer = _Writer(normal, vector_bytes, threads)
    calls = [writer.call(nest) for nest in nests]
    places, scratch = _temporary_places(normal, calls)
    lines = writer.lines
    declared = writer.declared
    kernels = [describe(n, normal) for n in nests]
    work = sum(k.operations + k.bytes_read + k.bytes_written for k in kernels)
    lines.append(_entry(calls, places, declared, threads > 1))
    lines.append(_python_call(work > LONG, declared))
    text = "\n".join([*declared.values(), *lines]) + "\n"
    return Module(text, scratch, kernels, writer.functions)


class Call(NamedTuple):
    """A call of a kernel: the memory it gets, whether it sets the status, and its units to share out."""

    name: str
    arguments: list[tuple[int, int]]
    checks: bool
    units: int


class _Writer:
    """Functions as they are written: nests that differ only in where their memory lies share one."""

    def __init__(self, normal: Normal, vector_bytes: int, threads: int) -> None:
        self.normal = normal
        self.threads = threads
        self.vector_bytes = vector_bytes
        self.declared: dict[str, str] = {}
        self.lines: list[str] = []
        self.functions = 0
        self._known: dict[Any, tuple[str, list[int], bool, int]] = {}
        self._texts: dict[str, str] = {}

    def call(self, nest: Nest) -> Call:
        """A function for a nest, and how to call it."""
        if nest.steps:
            for step in nest.steps:
                step.number = self.normal.origin[step.number]
            shape, places = shape_of(nest)
            if shape in self._known:
                name, order, checks, units = self._known[shape]
                return Call(name, [places[i] for i in order], checks, units)
        kernel = self._kernel(nest)
        text = kernel.text("NAME")
        name = self._texts.get(text, "")
        if not name:
            name = self._texts[text] = f"k{self.functions}"
            self.functions += 1
            self.lines.append(text.replace("@NAME(", f"@{name}(", 1))
        arguments, checks = list(kernel.arguments), STATUS in kernel.arguments
        units = kernel.units
        if nest.steps:
            order = [places.index(a) for a in arguments]
            self._known[shape] = (name, order, checks, units)
        return Call(name, arguments, checks, units)

    def _kernel(self, nest: Nest) -> Any:
        if nest.steps:
            return Kernel(nest, self.vector_bytes, self.declared)
        number = nest.instructions[0]
        instruction = self.normal.instructions[number]
        if isinstance(instruction, Product):
            return ProductKernel(instruction, self.declared, self.threads)
        assert isinstance(instruction, (ScatterAdd, PutAlong))
        origin = self.normal.origin[number]
        return ScatterKernel(origin, instruction, self.vector_bytes, self.declared)


def _temporary_places(normal: Normal, calls: list[Call]) -> tuple[dict[int, int], int]:
    """Where in our own memory each temporary copy lies; those that are never alive at once share."""
    lives: dict[int, tuple[int, int]] = {}
    for when, call in enumerate(calls):
        for buffer, _ in call.arguments:
            first, _ = lives.get(buffer, (when, when))
            lives[buffer] = (first, when)
    places: dict[int, int] = {}
    total = START
    in_memory = [number for number in normal.temporary if number in lives]
    for number in sorted(in_memory, key=lambda n: -normal.buffers[n].nbytes):
        first, last = lives[number]
        size = -(-normal.buffers[number].nbytes // START) * START
        taken = sorted(
            (place, place + -(-normal.buffers[other].nbytes // START) * START)
            for other, place in places.items()
            if lives[other][0] <= last and first <= lives[other][1]
        )
        at = START
        for start, end in taken:
            if at + size <= start:
                break
            at = max(at, end)
        places[number] = at
        total = max(total, at + size)
    return places, total


def _entry(
    calls: list[Call], places: dict[int, int], declared: dict[str, str], shared: bool
) -> str:
    most = max((len(call.arguments) for call in calls), default=1)
    lines = [
        "define internal i32 @body(ptr %table, ptr %own) nounwind {",
        "entry:",
        f"  %args = alloca [{max(most, 1)} x ptr]",
        "  store i32 0, ptr %own",
        f"  %first.at = getelementptr i8, ptr %own, i64 {FIRST}",
        "  %first = load i64, ptr %first.at",
        f"  %last.at = getelementptr i8, ptr %own, i64 {LAST}",
        "  %last = load i64, ptr %last.at",
        "  switch i64 %first, label %k0 ["
        + " ".join(f"i64 {n}, label %k{n}" for n in range(1, len(calls)))
        + "]",
    ]
    for number, call in enumerate(calls):
        lines.append(f"k{number}:")
        for place, (buffer, offset) in enumerate(call.arguments):
            p = f"%c{number}.{place}"
            if buffer == STATUS[0]:
                lines.append(f"  {p} = getelementptr i8, ptr %own, i64 0")
            elif buffer in places:
                lines.append(f"  {p} = getelementptr i8, ptr %own, i64 {places[buffer] + offset}")
            else:
                lines.append(f"  {p}t = getelementptr ptr, ptr %table, i64 {buffer}")
                lines.append(f"  {p}b = load ptr, ptr {p}t")
                lines.append(f"  {p} = getelementptr i8, ptr {p}b, i64 {offset}")
            lines.append(f"  {p}s = getelementptr ptr, ptr %args, i64 {place}")
            lines.append(f"  store ptr {p}, ptr {p}s")
        if call.units and shared:
            declared[PARALLEL] = f"declare void @{PARALLEL}(ptr, ptr, i64)"
            lines.append(f"  call void @{PARALLEL}(ptr @{call.name}, ptr %args, i64 {call.units})")
        else:
            lines.append(f"  call void @{call.name}(ptr %args, i64 0, i64 {call.units})")
        if call.checks:
            lines.append(f"  %s{number} = load i32, ptr %own")
            lines.append(f"  %f{number} = icmp eq i32 %s{number}, 0")
            lines.append(f"  br i1 %f{number}, label %go{number}, label %stop{number}")
            lines.append(f"stop{number}:")
            lines.append(f"  ret i32 %s{number}")
            lines.append(f"go{number}:")
        lines.append(f"  %e{number} = icmp eq i64 %last, {number + 1}")
        lines.append(f"  br i1 %e{number}, label %done, label %k{number + 1}")
    lines += [f"k{len(calls)}:", "  br label %done", "done:", "  ret i32 0", "}"]
    return "\n".join([*lines, _around(shared and any(call.units for call in calls), declared)])


def _around(shared: bool, declared: dict[str, str]) -> str:
    """The entry: while products are split over our threads, BLAS is to use none of its own."""
    lines = [f"define i32 @{ENTRY}(ptr %table, ptr %own) nounwind {{"]
    found = blas()
    split = shared and found is not None and found.obeys
    split = split and ("taut.sgemm" in declared or "taut.dgemm" in declared)
    if split:
        declared["taut.get_threads"] = "declare i32 @taut.get_threads()"
        declared["taut.set_threads"] = "declare void @taut.set_threads(i32)"
        declared[ALONE] = f"declare void @{ALONE}(ptr, ptr)"
        declared[TOGETHER] = f"declare void @{TOGETHER}(ptr)"
        lines.append(f"  call void @{ALONE}(ptr @taut.get_threads, ptr @taut.set_threads)")
    lines.append("  %status = call i32 @body(ptr %table, ptr %own)")
    if split:
        lines.append(f"  call void @{TOGETHER}(ptr @taut.set_threads)")
    return "\n".join([*lines, "  ret i32 %status", "}"])


def _python_call(lets_go: bool, declared: dict[str, str]) -> str:
    """What CPython calls: numbers taken from its integers, and the status given as one."""
    declared["PyLong_AsVoidPtr"] = "declare ptr @PyLong_AsVoidPtr(ptr)"
    declared["PyLong_FromLong"] = "declare ptr @PyLong_FromLong(i64)"
    lines = [
        f"define ptr @{CALL}(ptr %self, ptr %argument) {{",
        "  %own = call ptr @PyLong_AsVoidPtr(ptr %self)",
        "  %table = call ptr @PyLong_AsVoidPtr(ptr %argument)",
    ]
    if lets_go:
        declared["PyEval_SaveThread"] = "declare ptr @PyEval_SaveThread()"
        declared["PyEval_RestoreThread"] = "declare void @PyEval_RestoreThread(ptr)"
        lines.append("  %thread = call ptr @PyEval_SaveThread()")
    lines.append(f"  %status = call i32 @{ENTRY}(ptr %table, ptr %own)")
    if lets_go:
        lines.append("  call void @PyEval_RestoreThread(ptr %thread)")
    lines += [
        "  %number = sext i32 %status to i64",
        "  %result = call ptr @PyLong_FromLong(i64 %number)",
        "  ret ptr %result",
        "}",
    ]
    return "\n".join(lines)
