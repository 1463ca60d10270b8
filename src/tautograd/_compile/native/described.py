"""What each kernel does, for people to read and for memory to be planned by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..program.ir import Instruction, Product, View
from .fusion.liveness import covers
from .fusion.nests import Nest
from .fusion.normalise import Normal


@dataclass(slots=True)
class Fused:
    """What one kernel does, for people to read."""

    instructions: list[int]  # of the list that was lowered
    kind: str
    shape: tuple[int, ...]
    bytes_read: int
    bytes_written: int
    operations: int
    passes: int
    ended: str  # why the next instruction that could have joined did not
    reads: frozenset[int]  # buffers that it touches in memory
    writes: frozenset[int]
    names: tuple[str, ...] = ()  # of the instructions
    fills: frozenset[int] = frozenset()  # buffers of which it writes all, and reads nothing before
    in_place: tuple[tuple[int, int, int], ...] = ()  # read, written over it if need be, its bytes

    def __str__(self) -> str:
        size = "×".join(str(n) for n in self.shape)
        passes = f" in {self.passes} passes" if self.passes > 1 else ""
        moved = f"reads {_bytes(self.bytes_read)}, writes {_bytes(self.bytes_written)}"
        ended = f"; then: {self.ended}" if self.ended else ""
        what = self.kind + (f" {size}" if size else "")
        return f"{what}{passes}: {', '.join(self.names)} ({moved}, {self.operations:,} operations){ended}"


def describe(nest: Nest, normal: Normal) -> Fused:
    read = written = 0
    reads: set[int] = set()
    writes: set[int] = set()
    operations = 0
    kind = "loop"
    whole: set[int] = set()
    before: set[int] = set()  # read before anything of it was written
    if nest.steps:
        stored = {s.output for s in nest.steps if s.stored}
        made: set[Any] = set()
        seen: set[Any] = set()
        for touch in nest.touched:
            what = touch.access or touch.view
            in_memory = touch.access in stored if touch.writes or what in made else True
            if in_memory:
                (writes if touch.writes else reads).add(touch.view.buffer)
                if touch.writes and _is_whole(touch.view, normal):
                    whole.add(touch.view.buffer)
            if touch.writes:
                made.add(what)
            elif what not in made:
                before.add(touch.view.buffer)
            if in_memory and (what, touch.writes) not in seen:
                seen.add((what, touch.writes))
                if touch.writes:
                    written += _footprint(touch.view)
                elif what not in made:
                    read += _footprint(touch.view)
        operations = nest.size * sum(s.full for s in nest.steps)
        kind = "rows" if nest.reduced is not None else "loop"
    else:
        instruction = normal.instructions[nest.instructions[0]]
        read = sum(_footprint(v) for v in instruction.reads())
        written = sum(_footprint(v) for v in instruction.writes())
        reads = before = {v.buffer for v in instruction.reads()}
        writes = {v.buffer for v in instruction.writes()}
        whole = {v.buffer for v in instruction.writes() if _is_whole(v, normal)}
        kind = type(instruction).__name__.lower()
        if isinstance(instruction, Product):
            kind = "product"
            operations = 2 * instruction.output.size * instruction.left.shape[-1]
    numbers = sorted({normal.origin[i] for i in nest.instructions})
    own = set(normal.temporary)
    return Fused(
        numbers,
        kind,
        nest.dims,
        read,
        written,
        operations,
        nest.passes if nest.steps else 1,
        nest.ended,
        frozenset(reads - own),
        frozenset(writes - own),
        tuple(_name(normal.instructions[i]) for i in nest.instructions),
        frozenset(whole - before - own),
        tuple(_in_place(nest, before | own)) if nest.passes == 1 else (),
    )


def _in_place(nest: Nest, needed: set[int]) -> Iterator[tuple[int, int, int]]:
    """Pairs of what is read and what is written element by element, after that element was read."""
    read: dict[int, set[Any]] = {}
    size: dict[int, int] = {}
    for touch in nest.touched:
        view = touch.view
        read.setdefault(view.buffer, set()).add(None if touch.writes else touch.access)
        if touch.writes:
            size[view.buffer] = view.size * view.dtype.itemsize if covers(view) else 0
    seen: dict[int, set[int]] = {}  # what was written before each was first read
    written: set[int] = set()
    for step in nest.steps:
        for access in step.reads():
            seen.setdefault(access.buffer, set(written))
        out = step.output
        if step.stored:
            written.add(out.buffer)
        if not step.stored or not step.full or step.reduced is not None or out.buffer in needed:
            continue
        for buffer, earlier in seen.items():
            (access, *others) = read[buffer]
            if access is None or others or access.offset != out.offset or out.buffer in earlier:
                continue
            if access.strides == out.strides and access.dtype.itemsize == out.dtype.itemsize:
                yield buffer, out.buffer, size[out.buffer]


def _is_whole(view: View, normal: Normal) -> bool:
    """Whether a view is all of its buffer."""
    size = view.size * view.dtype.itemsize
    return size == normal.buffers[view.buffer].nbytes and covers(view)


def _name(instruction: Instruction) -> str:
    if isinstance(instruction, Product):
        return "product"
    return str(getattr(instruction, "function", type(instruction).__name__.lower()))


def _bytes(count: int) -> str:
    return f"{count} B" if count < 1000 else f"{count / 1e3:,.1f} kB"


def _footprint(view: View) -> int:
    """Bytes of different elements: what is repeated by strides of zero counts once."""
    count = int(view.dtype.itemsize)
    for n, stride in zip(view.shape, view.strides, strict=True):
        if stride:
            count *= n
    return count
