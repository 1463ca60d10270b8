"""A list of instructions as a program: a function for each kind of kernel, and the calls of them in their order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...dynamic.size import Ways, example
from ...program.ir import Buffer, Instruction, Product, PutAlong, ScatterAdd
from ..described import Fused, describe
from ..fusion.gemm_scale import with_factors
from ..fusion.grouping import nests_of
from ..fusion.nests import Nest
from ..fusion.normalise import SMALL_PRODUCT, Normal
from ..loops import STATUS, Kernel, shape_of
from ..products import ProductKernel, blas, shape_of_product
from ..scatters import ScatterKernel
from . import jit
from .numbers import generalised
from .player import CHECKS, OWN, QUIETS_BLAS, RELEASES, SHARED, START

LONG = 100_000  # operations and bytes: a longer run lets other Python threads go on


@dataclass(slots=True)
class Module:
    """A program: its functions in LLVM's language, by their names, and the calls of them, as `player` has them.

    A call is the number of its function, its units, its flags, the pointers it is given and the numbers. Of a program
    for any size, numbers that depend on sizes are `Size`s, and `ways` says for which sizes it holds.
    """

    declared: dict[str, str]
    functions: dict[str, str]
    calls: list[tuple[int, int, int, list[tuple[int, int]], list[int]]]
    scratch: int
    around: int
    kernels: list[Fused]
    ways: Any = None

    @property
    def text(self) -> str:
        """All of it, for people to read."""
        names = list(self.functions)
        lines = [*self.declared.values(), *self.functions.values()]
        for function, units, flags, pointers, numbers in self.calls:
            places = ", ".join(f"{'own' if base == OWN else base}+{far}" for base, far in pointers)
            shared = f" shares {units}" if flags & SHARED else ""
            lines.append(f"; {names[function]}({places}; {', '.join(map(str, numbers))}){shared}")
        return "\n".join(lines) + "\n"

    def source(self, names: Iterable[str]) -> str:
        """The text of some of its functions, to be compiled."""
        needed = [text for name, text in self.declared.items() if not name.startswith(_SIZES)]
        return "\n".join([*needed, *(self.functions[name] for name in names)]) + "\n"


_SIZES = ("c.i32.", "c.i64.")  # constants that a call gives instead


def build(
    instructions: Sequence[Instruction],
    buffers: dict[int, Buffer],
    needed: Iterable[int],
    vector_bytes: int,
    threads: int = 1,
    ways: Ways | None = None,
) -> Module:
    needed = frozenset(needed)
    normal = Normal(with_factors(instructions, buffers, needed, SMALL_PRODUCT), buffers)
    nests = nests_of(normal, needed)
    writer = _Writer(normal, vector_bytes, threads, ways)
    calls = [writer.call(nest) for nest in nests]
    places, scratch = (_temporary_places if ways is None else _places_apart)(normal, calls)
    kernels = [describe(n, normal) for n in nests]
    work = sum(example(k.operations + k.bytes_read + k.bytes_written) for k in kernels)
    around = RELEASES if work > LONG else 0
    if threads > 1 and any(example(call.units) for call in calls) and _multiplies(writer.declared):
        around |= QUIETS_BLAS
    numbers = {name: number for number, name in enumerate(writer.functions)}
    placed = []
    for call in calls:
        flags = CHECKS if call.checks else 0
        flags |= SHARED if threads > 1 and call.units else 0
        pointers = [_pointer(argument, places) for argument in call.arguments]
        placed.append((numbers[call.name], call.units, flags, pointers, [*call.numbers]))
    return Module(writer.declared, writer.functions, placed, scratch, around, kernels, ways)


def _multiplies(declared: dict[str, str]) -> bool:
    """Whether products are split over our threads, so that BLAS is to use none of its own."""
    found = blas()
    obeys = found is not None and found.obeys
    return obeys and ("taut.sgemm" in declared or "taut.dgemm" in declared)


def _pointer(argument: tuple[int, int], places: dict[int, int]) -> tuple[int, int]:
    """Where memory lies: from which address of the table, or in the program's own memory, and how far from there."""
    buffer, offset = argument
    if buffer == STATUS[0]:
        return OWN, 0
    return (OWN, places[buffer] + offset) if buffer in places else argument


class Call(NamedTuple):
    """A call of a kernel: the memory it gets, whether it sets the status, its units to share out, its numbers."""

    name: str
    arguments: list[tuple[int, int]]
    checks: bool
    units: int
    numbers: Sequence[int] = ()


class Written(NamedTuple):
    """A function as it was written: what it needs declared, and in which order it is given its nest's memory."""

    name: str
    text: str
    declared: dict[str, str]
    order: list[Any]
    checks: bool
    units: int
    numbers: Sequence[int]


KEPT = 2048  # functions
# By all that a function depends on. Of a program at another size much is the same, as an optimizer's step is.
_written: dict[Any, Written] = {}


class _Writer:
    """Functions as they are written: nests that differ only in where their memory lies, and in sizes, share one."""

    def __init__(self, normal: Normal, vector_bytes: int, threads: int, ways: Ways | None) -> None:
        self.normal = normal
        self.ways = ways
        self.threads = threads
        self.vector_bytes = vector_bytes
        self.declared: dict[str, str] = {}
        self.functions: dict[str, str] = {}
        self._host = vector_bytes, threads, jit.host()

    def call(self, nest: Nest) -> Call:
        """A function for a nest, and how to call it."""
        shape, places = self._shape(nest)
        if self.ways is not None:
            shape = None  # numbers that are not known cannot be compared
        key = None if shape is None else (self._host, shape)
        found = _written.get(key)
        if found is None:
            declared: dict[str, str] = {}
            kernel = self._kernel(nest, declared)
            text, numbers = generalised(kernel.text("NAME"), len(kernel.arguments), self.ways)
            name = "k" + hashlib.sha256(text.encode()).hexdigest()[:40]
            text = text.replace("define internal void @NAME(", f"define void @{name}(", 1)
            arguments = list(kernel.arguments)
            order = arguments if key is None else [places.index(a) for a in arguments]
            checks = STATUS in kernel.arguments
            found = Written(name, text, declared, order, checks, kernel.units, numbers)
            if key is not None:
                if len(_written) >= KEPT:
                    _written.clear()
                _written[key] = found
        self.declared.update(found.declared)
        self.functions.setdefault(found.name, found.text)
        memory = found.order if key is None else [places[i] for i in found.order]
        return Call(found.name, memory, found.checks, found.units, found.numbers)

    def _shape(self, nest: Nest) -> tuple[Any, list[Any]]:
        """What the function of a nest depends on, with memory by number (None: it is not kept), and that memory."""
        if nest.steps:
            for step in nest.steps:
                step.number = self.normal.origin[step.number]
            return shape_of(nest)
        instruction = self.normal.instructions[nest.instructions[0]]
        return shape_of_product(instruction) if isinstance(instruction, Product) else (None, [])

    def _kernel(self, nest: Nest, declared: dict[str, str]) -> Any:
        if nest.steps:
            return Kernel(nest, self.vector_bytes, declared)
        number = nest.instructions[0]
        instruction = self.normal.instructions[number]
        if isinstance(instruction, Product):
            return ProductKernel(instruction, declared, self.threads)
        assert isinstance(instruction, (ScatterAdd, PutAlong))
        origin = self.normal.origin[number]
        return ScatterKernel(origin, instruction, self.vector_bytes, declared)


def _places_apart(normal: Normal, calls: list[Call]) -> tuple[dict[int, int], int]:
    """The same where sizes are not known: no two temporary copies share memory."""
    places: dict[int, int] = {}
    total = START
    used = {buffer for call in calls for buffer, _ in call.arguments}
    for number in normal.temporary:
        if number in used:
            places[number] = total
            total = total + -(-normal.buffers[number].nbytes // START) * START
    return places, total


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
